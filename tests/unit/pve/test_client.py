"""The helper that stories use, and the faults it asks for, over real HTTP."""

import asyncio
import gzip
from ipaddress import ip_interface

import pytest

from e2e.pve.client import SimulatorClient, SimulatorError
from e2e.pve.nic import Nic
from tests.unit.pve.test_joliet import CAPMOX_IMAGE

VM = "/nodes/pve1/qemu/101"


async def test_a_vm_is_seen_whole_and_templates_are_left_out(pve):
    client = SimulatorClient(pve.url)
    assert await asyncio.to_thread(client.vms) == ()
    await pve.clone("m1")
    await pve.upload("user-data-101.iso", gzip.decompress(CAPMOX_IMAGE.read_bytes()))
    changes = {
        "net0": "virtio=BC:24:11:00:00:09,bridge=vmbr7,tag=107",
        "ide0": "local:iso/user-data-101.iso,media=cdrom",
    }
    assert await pve.task("POST", VM + "/config", changes) == "OK"
    (vm,) = await asyncio.to_thread(client.vms)
    assert (vm.vmid, vm.name, vm.node, vm.status, vm.lock) == (101, "m1", "pve1", "stopped", None)
    assert vm.nics == {"net0": Nic("virtio", "vmbr7", "BC:24:11:00:00:09", tag=107)}
    assert vm.tags == ("capi", "ubuntu")
    assert (vm.iso, vm.iso_present, vm.config["cores"]) == ("local:iso/user-data-101.iso", True, 1)


async def test_cloud_init_is_still_there_after_the_iso_is_gone(pve):
    client = SimulatorClient(pve.url)
    await pve.clone("m1")
    await pve.upload("user-data-101.iso", gzip.decompress(CAPMOX_IMAGE.read_bytes()))
    pve.clock.now += 10
    iso = "/nodes/pve1/storage/local/content/local:iso/user-data-101.iso"
    assert await pve.task("DELETE", iso) == "OK"
    vm = await asyncio.to_thread(client.vm, "m1")
    seen = await asyncio.to_thread(client.cloud_init, vm)
    assert ip_interface("10.10.0.10/24") in seen.network_config.interface("eth0").addresses


async def test_what_is_missing_is_named(pve):
    client = SimulatorClient(pve.url)
    await pve.clone("m1")
    with pytest.raises(SimulatorError, match="0 VMs are named 'm2'; there are: m1"):
        await asyncio.to_thread(client.vm, "m2")
    vm = await asyncio.to_thread(client.vm, "m1")
    with pytest.raises(SimulatorError, match=r"500 no ISO named 'user-data-101\.iso' was ever uploaded"):
        await asyncio.to_thread(client.cloud_init, vm)


async def test_faults_are_asked_for_and_cleared(pve):
    client = SimulatorClient(pve.url)
    await asyncio.to_thread(client.refuse_request, "GET", "/cluster/nextid", 500, "no quorum", 2)
    answer = await pve.ask("GET", "/cluster/nextid")
    assert (answer.status, answer.reason) == (500, "no quorum")
    await asyncio.to_thread(client.clear_faults)
    assert (await pve.ask("GET", "/cluster/nextid")).status == 200

    await asyncio.to_thread(client.fail_task, "qmclone", "clone failed: no space")
    clone = {"newid": 101, "name": "m1"}
    assert await pve.task("POST", "/nodes/pve1/qemu/9000/clone", clone) == "clone failed: no space"

    await asyncio.to_thread(client.slow_task, "qmclone", 60.0)
    async with pve.session.get(pve.url + "/simulator/faults") as left:
        assert [fault["kind"] for fault in (await left.json())["data"]] == ["task-slow"]
    upid = (await pve.ask("POST", "/nodes/pve1/qemu/9000/clone", clone)).data
    pve.clock.now += 59
    assert (await pve.get(f"/nodes/pve1/tasks/{upid}/status"))["status"] == "running"


async def test_a_fault_that_is_none_is_refused(pve):
    client = SimulatorClient(pve.url)
    with pytest.raises(SimulatorError, match=r"400 Parameter verification failed.*one line"):
        await asyncio.to_thread(client.refuse_request, "GET", "/x", 500, "two\nlines")
