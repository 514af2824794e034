"""ISO files on the storages: upload, look-up, delete. Uploads that would be refused by PVE are refused."""

from __future__ import annotations

from dataclasses import dataclass, field

from e2e.pve.errors import ParameterError, ServerError
from e2e.pve.state import Cluster, Storage
from e2e.pve.tasks import Request, TaskBoard, Upid


@dataclass(frozen=True, slots=True)
class Volumes:
    """`archive` keeps the last ISO uploaded under each name even after its deletion, as evidence for whoever looks."""

    cluster: Cluster
    tasks: TaskBoard
    archive: dict[str, bytes] = field(default_factory=dict)

    def upload(self, asked: Request, node: str, storage: Storage, name: str, content: bytes) -> Upid:
        """Store an ISO; it is there when the task ends. A file of that name is replaced, as in PVE."""
        if "iso" not in storage.content:
            raise ServerError(f"storage '{storage.name}' does not support 'iso' content")
        if not name.endswith((".iso", ".img")) or "/" in name:
            raise ParameterError({"filename": "missing '.iso' or '.img' extension"})
        if not content:
            raise ServerError("temporary file of the upload is empty")
        key = self.cluster.volume_key(node, storage.name, name)

        def work() -> None:
            self.cluster.volumes[key] = content
            self.archive[name] = content

        return self.tasks.start(asked, node, "imgcopy", "", work)

    def delete(self, asked: Request, node: str, storage: Storage, name: str) -> Upid:
        """Remove an ISO. Removing what is not there is no error to PVE's file storages."""
        key = self.cluster.volume_key(node, storage.name, name)

        def work() -> None:
            self.cluster.volumes.pop(key, None)

        return self.tasks.start(asked, node, "imgdel", "", work)

    def content(self, node: str, storage: Storage, name: str) -> bytes:
        key = self.cluster.volume_key(node, storage.name, name)
        found = self.cluster.volumes.get(key)
        if found is None:
            raise ServerError(f"volume_size_info on '{storage.name}:iso/{name}' failed")
        return found

    def names(self, node: str, storage: Storage) -> list[str]:
        wanted = self.cluster.volume_key(node, storage.name, "")[:2]
        return sorted(name for *place, name in self.cluster.volumes if tuple(place) == wanted)
