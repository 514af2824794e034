"""The whole life of one VM, request by request in the order capmox 0.9.0 sends them."""

import gzip
from ipaddress import ip_interface

from e2e.pve.cloudinit import read_cloud_init
from tests.unit.pve.conftest import BOOT_SECONDS, TASK_SECONDS
from tests.unit.pve.test_joliet import CAPMOX_IMAGE

VM = "/nodes/pve2/qemu/100"
ISO = "local:iso/user-data-100.iso"


async def test_the_life_of_one_machine(pve):
    assert (await pve.get("/version"))["release"]

    # the template is found, by its tags
    resources = await pve.get("/cluster/resources?type=vm")
    assert [(vm["vmid"], vm["node"], vm["template"], vm["tags"]) for vm in resources] == [
        (9000, "pve1", 1, "capi;ubuntu")
    ]
    assert (await pve.get("/nodes/pve1/status"))["memory"]["total"] == 64 * 2**30
    assert (await pve.get("/nodes/pve1/qemu/9000/status/current"))["template"] == 1
    template = await pve.get("/nodes/pve1/qemu/9000/config")

    # cloned to another node: until the task ends it is locked and still on the source's node
    assert await pve.get("/cluster/nextid") == "100"
    clone = {"newid": 100, "full": 1, "name": "one-m1", "target": "pve2"}
    cloning = await pve.ask("POST", "/nodes/pve1/qemu/9000/clone", clone)
    assert cloning.status == 200
    assert (await pve.get(f"/nodes/pve1/tasks/{cloning.data}/status"))["status"] == "running"
    assert (await pve.get("/nodes/pve1/qemu/100/status/current"))["lock"] == "clone"
    early = await pve.ask("POST", "/nodes/pve1/qemu/100/config", {"cores": 2})
    assert (early.status, early.reason) == (500, "VM is locked (clone)")
    taken = await pve.ask("GET", "/cluster/nextid?vmid=100")
    assert (taken.status, taken.errors) == (400, {"vmid": "VM 100 already exists"})
    pve.clock.now += TASK_SECONDS
    assert await pve.exit_status(cloning.data) == "OK"

    # its own name, BIOS uuid, MAC and disk; everything else is the template's
    current, config = await pve.get(VM + "/status/current"), await pve.get(VM + "/config")
    assert (current["name"], current["status"], current["qmpstatus"]) == ("one-m1", "stopped", "stopped")
    assert "template" not in current
    assert config["smbios1"] != template["smbios1"]
    assert config["net0"] != template["net0"]
    assert config["scsi0"] == "vms:vm-100-disk-0,size=10G"
    assert config["tags"] == "capi;ubuntu"

    # configured: PVE invents the MAC, and sorts the options
    changes = {"cores": 2, "memory": 2048, "net0": "virtio,bridge=vmbr7,mtu=1400,tag=107", "description": "d"}
    assert await pve.task("POST", VM + "/config", changes) == "OK"
    assert await pve.task("PUT", VM + "/resize", {"disk": "scsi0", "size": "20G"}) == "OK"
    tags = {"tags": "capi;ubuntu;ip_net0_10.10.0.10"}
    assert await pve.task("POST", VM + "/config", tags) == "OK"
    config = await pve.get(VM + "/config")
    model, bridge, *rest = config["net0"].split(",")
    assert model.startswith("virtio=BC:24:11:")
    assert [bridge, *rest] == ["bridge=vmbr7", "mtu=1400", "tag=107"]
    assert (config["cores"], config["memory"], config["scsi0"]) == (2, "2048", "vms:vm-100-disk-0,size=20G")
    assert config["tags"] == "capi;ip_net0_10.10.0.10;ubuntu"

    # the ISO: uploaded, then attached and made a boot device
    storages = await pve.get("/nodes/pve2/storage")
    iso_storage = next(s["storage"] for s in storages if "iso" in s["content"] and s["enabled"])
    assert iso_storage == "local"
    content = gzip.decompress(CAPMOX_IMAGE.read_bytes())
    upload = await pve.upload("user-data-100.iso", content)
    assert upload.status == 200
    attach = {"ide0": f"{ISO},media=cdrom", "boot": f"{config['boot']};ide0"}
    assert await pve.task("POST", VM + "/config", attach) == "OK"
    assert (await pve.get(VM + "/config"))["boot"] == "order=scsi0;ide0"


async def test_start_to_delete(pve):
    await pve.clone("one-m1", 100, target="pve2")
    content = gzip.decompress(CAPMOX_IMAGE.read_bytes())
    await pve.upload("user-data-100.iso", content)  # on pve1, a local storage: pve2 does not see it
    attach = {"ide0": f"{ISO},media=cdrom", "boot": "order=scsi0;ide0", "tags": "go-proxmox+cloud-init"}
    assert await pve.task("POST", VM + "/config", attach) == "OK"
    assert await pve.task("POST", VM + "/status/start") == f"volume '{ISO}' does not exist"
    pve.held.cluster.volumes["pve2", "local", "user-data-100.iso"] = content
    assert await pve.task("POST", VM + "/status/start") == "OK"
    current = await pve.get(VM + "/status/current")
    assert (current["status"], current["qmpstatus"]) == ("running", "running")

    # the guest agent answers once the guest is up
    pve.clock.now += BOOT_SECONDS
    assert (await pve.get(VM + "/agent/get-osinfo"))["result"]["id"] == "debian"
    run = {"command": ["cloud-init", "status"], "input-data": ""}
    pid = (await pve.ask("POST", VM + "/agent/exec", run)).data["pid"]
    done = await pve.get(f"{VM}/agent/exec-status?pid={pid}")
    assert (done["exited"], done["exitcode"], done["out-data"]) == (1, 0, "status: done\n")

    # what the guest saw is what was asked of the network
    seen = read_cloud_init(pve.held.volumes.archive["user-data-100.iso"])
    assert ip_interface("10.10.0.10/24") in seen.network_config.interface("eth0").addresses

    # capmox stops and destroys at once: PVE refuses until the stop has come through
    assert (await pve.ask("POST", VM + "/status/stop")).status == 200
    destroy = await pve.ask("DELETE", VM)
    assert (destroy.status, destroy.reason) == (500, "VM 100 is running - destroy failed")
    pve.clock.now += TASK_SECONDS
    assert (await pve.get(f"/nodes/pve2/storage/local/content/{ISO}"))["size"] == len(content)
    assert await pve.task("DELETE", f"/nodes/pve2/storage/local/content/{ISO}") == "OK"
    assert await pve.task("DELETE", VM) == "OK"
    assert await pve.get("/cluster/nextid?vmid=100") == "100"
    gone = await pve.ask("GET", VM + "/status/current")
    assert (gone.status, gone.reason) == (
        500,
        "Configuration file 'nodes/pve2/qemu-server/100.conf' does not exist",
    )


async def test_stops_that_pile_up_cost_no_time(pve):
    await pve.clone("one-m1", 100)
    vm = "/nodes/pve1/qemu/100"
    assert await pve.task("POST", vm + "/status/start") == "OK"
    stops = [(await pve.ask("POST", vm + "/status/stop")).data for _ in range(5)]
    pve.clock.now += TASK_SECONDS
    assert [await pve.exit_status(upid) for upid in stops] == ["OK"] * 5


async def test_a_failed_clone_leaves_nothing(pve):
    pve.held.faults.add({"kind": "task-fails", "task": "qmclone", "message": "clone failed: no space"})
    clone = {"newid": 100, "name": "one-m1"}
    assert await pve.task("POST", "/nodes/pve1/qemu/9000/clone", clone) == "clone failed: no space"
    assert await pve.get("/cluster/nextid") == "100"


async def test_a_moved_vm_is_found_on_its_new_node(pve):
    await pve.clone("one-m1", 100)
    assert await pve.task("POST", "/nodes/pve1/qemu/100/migrate", {"target": "pve2"}) == "OK"
    assert "does not exist" in (await pve.ask("GET", "/nodes/pve1/qemu/100/config")).reason
    resources = await pve.get("/cluster/resources?type=vm")
    assert {vm["vmid"]: vm["node"] for vm in resources}[100] == "pve2"


async def test_pause_and_resume(pve):
    await pve.clone("one-m1", 100)
    vm = "/nodes/pve1/qemu/100"
    assert await pve.task("POST", vm + "/status/resume") == "VM 100 not running"
    assert await pve.task("POST", vm + "/status/start") == "OK"
    assert await pve.task("POST", vm + "/status/suspend") == "OK"
    assert (await pve.get(vm + "/status/current"))["qmpstatus"] == "paused"
    assert await pve.task("POST", vm + "/status/resume") == "OK"
    assert (await pve.get(vm + "/status/current"))["qmpstatus"] == "running"
    assert await pve.task("POST", vm + "/status/shutdown") == "OK"
    assert (await pve.get(vm + "/status/current"))["status"] == "stopped"
