"""What happens to a VM: clone, configure, resize, start, stop, destroy. The rules are PVE's, the time is passed in.

Each operation checks what PVE checks before it answers, then queues the rest as a task. Deleting follows PVE to the
letter, because capmox sends "stop" and "destroy" back to back: PVE refuses to destroy a VM that still runs ("VM 101 is
running - destroy failed"), so the destroy succeeds only on a later attempt, when the stop task has ended.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, replace

from e2e.pve.errors import ParameterError, ServerError, no_such_vm
from e2e.pve.settings import Settings, apply_settings, check_name, drive_storage, is_drive
from e2e.pve.state import FIRST_VMID, Cluster, Vm
from e2e.pve.tasks import Request, TaskBoard, Upid

_SIZE = re.compile(r"(?P<plus>\+)?(?P<number>\d+(\.\d+)?)(?P<unit>[KMGT])?")
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


@dataclass(frozen=True, slots=True)
class Machines:
    """The operations, over one cluster and its tasks."""

    cluster: Cluster
    tasks: TaskBoard

    def clone(
        self,
        asked: Request,
        source: Vm,
        *,
        newid: int,
        name: str | None = None,
        target: str | None = None,
        storage: str | None = None,
        full: bool = True,
        description: str | None = None,
    ) -> Upid:
        """Copy a VM or template. The copy exists at once, locked and on the source's node, until the task ends.

        The task is filed under the new id (PVE: under the source's), so that clones of one template may overlap.
        """
        if newid < FIRST_VMID:
            raise ParameterError({"newid": f"value must have a minimum value of {FIRST_VMID}"})
        if storage is not None and full and "images" not in self.cluster.storage(storage).content:
            raise ServerError(f"storage '{storage}' does not support vm images")
        if storage is not None and not full:
            raise ParameterError({"storage": "parameter not allowed for linked clones"})
        if not full and not source.template:
            raise ServerError(f"Linked clone feature is not supported for VM {source.vmid}: it is not a template")
        destination = self.cluster.node(target or source.node).name
        source.refuse_if_locked()
        if newid in self.cluster.vms:
            raise ServerError(f"unable to create VM {newid}: config file already exists")
        config = self._cloned_config(source, newid, storage)
        if description is not None:
            config["description"] = description
        copy = Vm(newid, source.node, check_name(name or f"Copy-of-VM-{source.name}"), config, lock="clone")
        self.cluster.put(copy)
        return self.tasks.start(
            asked,
            source.node,
            "qmclone",
            str(newid),
            work=lambda: self.cluster.put(replace(self._existing(newid), node=destination, lock=None)),
            undo=lambda: self._forget(newid),
        )

    def configure(self, asked: Request, vm: Vm, changes: Settings) -> Upid:
        """Change settings; always a task."""
        vm.refuse_if_locked()
        for name, value in changes.items():
            if is_drive(name) and (storage := drive_storage(str(value))):
                self.cluster.storage(storage)

        def work() -> None:
            now = self._existing(vm.vmid)
            config = apply_settings(now.config, changes)
            self.cluster.put(replace(now, name=str(config.pop("name", now.name)), config=config))

        return self.tasks.start(asked, vm.node, "qmconfig", str(vm.vmid), work)

    def resize(self, asked: Request, vm: Vm, disk: str, size: str) -> Upid:
        """Grow a disk to `size` ("100G"), or by it ("+10G")."""
        asked_size = _SIZE.fullmatch(size)
        if asked_size is None:
            raise ParameterError({"size": "value does not match the regex pattern"})
        vm.refuse_if_locked()
        if disk not in vm.config or not is_drive(disk):
            raise ServerError(f"disk '{disk}' does not exist")
        wanted = int(float(asked_size["number"]) * _UNITS.get(asked_size["unit"] or "", 1))

        def work() -> None:
            now = self._existing(vm.vmid)
            line, old = _split_size(str(now.config[disk]))
            new = old + wanted if asked_size["plus"] else wanted
            if new < old:
                raise ServerError("shrinking disks is not supported")
            self.cluster.put(replace(now, config={**now.config, disk: f"{line},size={_print_size(new)}"}))

        return self.tasks.start(asked, vm.node, "resize", str(vm.vmid), work)

    def start(self, asked: Request, vm: Vm) -> Upid:
        """Start it. What stands in the way (a lock, a missing bridge or ISO) shows in the task, as in PVE."""

        def work() -> None:
            now = self._existing(vm.vmid)
            if now.started is not None:
                raise ServerError(f"VM {vm.vmid} already running")
            if now.template:
                raise ServerError("you can't start a vm if it's a template")
            now.refuse_if_locked()
            self._refuse_missing_parts(now)
            self.cluster.put(replace(now, started=asked.now))

        return self.tasks.start(asked, vm.node, "qmstart", str(vm.vmid), work)

    def stop(self, asked: Request, vm: Vm, kind: str = "qmstop") -> Upid:
        """Pull the plug. A stop of what is stopped, or about to be, is no error and takes no time."""

        def work() -> None:
            now = self._existing(vm.vmid)
            if now.started is not None:
                now.refuse_if_locked()
            self.cluster.put(replace(now, started=None, paused=False))

        idle = vm.started is None or self.tasks.pending(str(vm.vmid), "qmstop")
        return self.tasks.start(asked, vm.node, kind, str(vm.vmid), work, seconds=0.0 if idle else None)

    def pause(self, asked: Request, vm: Vm, *, paused: bool) -> Upid:
        def work() -> None:
            now = self._existing(vm.vmid)
            if now.started is None:
                raise ServerError(f"VM {vm.vmid} not running")
            self.cluster.put(replace(now, paused=paused))

        return self.tasks.start(asked, vm.node, "qmsuspend" if paused else "qmresume", str(vm.vmid), work)

    def migrate(self, asked: Request, vm: Vm, target: str) -> Upid:
        self.cluster.node(target)
        vm.refuse_if_locked()
        if target == vm.node:
            raise ParameterError({"target": "target is local node."})
        return self.tasks.start(
            asked,
            vm.node,
            "qmigrate",
            str(vm.vmid),
            lambda: self.cluster.put(replace(self._existing(vm.vmid), node=target)),
        )

    def destroy(self, asked: Request, vm: Vm) -> Upid:
        """Remove a stopped VM. Its ISO stays, as PVE leaves files on a storage alone."""
        if vm.config.get("protection"):
            raise ServerError(f"can't remove VM {vm.vmid} - protection mode enabled")
        if vm.started is not None:
            raise ServerError(f"VM {vm.vmid} is running - destroy failed")

        def work() -> None:
            now = self._existing(vm.vmid)
            if now.started is not None:
                raise ServerError(f"VM {vm.vmid} is running - destroy failed")
            now.refuse_if_locked()
            self._forget(vm.vmid)

        return self.tasks.start(asked, vm.node, "qmdestroy", str(vm.vmid), work)

    def _existing(self, vmid: int) -> Vm:
        """The VM now, which an earlier task on it may have changed or removed."""
        if vmid not in self.cluster.vms:
            raise no_such_vm("*", vmid)
        return self.cluster.vms[vmid]

    def _forget(self, vmid: int) -> None:
        self.cluster.vms.pop(vmid, None)

    def _cloned_config(self, source: Vm, newid: int, storage: str | None) -> Settings:
        """A clone keeps settings and tags, but has a BIOS uuid, MACs and disks of its own."""
        config: Settings = dict(source.config)
        config["smbios1"] = f"uuid={uuid.uuid4()}"
        config.update({name: str(nic.with_mac(self.cluster.new_mac())) for name, nic in source.nics().items()})
        disks = [name for name in config if is_drive(name) and "media=cdrom" not in str(config[name])]
        for index, name in enumerate(disks):
            line, size = _split_size(str(config[name]))
            where = storage or drive_storage(line) or "local"
            config[name] = f"{where}:vm-{newid}-disk-{index},size={_print_size(size)}"
        return config

    def _refuse_missing_parts(self, vm: Vm) -> None:
        bridges = self.cluster.node(vm.node).bridges
        for nic in vm.nics().values():
            if bridges and nic.bridge not in bridges:
                raise ServerError(f"bridge '{nic.bridge}' does not exist")
        volume = vm.iso()
        if volume is not None:
            storage, _, path = volume.partition(":")
            key = self.cluster.volume_key(vm.node, storage, path.removeprefix("iso/"))
            if key not in self.cluster.volumes:
                raise ServerError(f"volume '{volume}' does not exist")


def _split_size(line: str) -> tuple[str, int]:
    """`vms:vm-9-disk-0,size=10G` -> (`vms:vm-9-disk-0`, bytes)."""
    parts = [part for part in line.split(",") if not part.startswith("size=")]
    sized = re.search(r"(?:^|,)size=(\d+)([KMGT])?", line)
    return ",".join(parts), int(sized[1]) * _UNITS.get(sized[2] or "", 1) if sized else 0


def _print_size(size: int) -> str:
    for unit in ("T", "G", "M", "K"):
        if size and size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}"
    return str(size)
