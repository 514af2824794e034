"""Every endpoint, asked rightly and wrongly: PVE's status and reason phrase, never silence."""

import pytest

from tests.unit.pve.conftest import ADMIN, AUDITOR, BOOT_SECONDS

VM = "/nodes/pve1/qemu/101"
GONE = "Configuration file 'nodes/pve1/qemu-server/555.conf' does not exist"
NO_NODE = "hostname lookup 'pve9' failed - failed to get address info for: pve9: Name or service not known"
BAD = "Parameter verification failed."
UNKNOWN_TASK = "UPID:pve1:00000FFF:00000FFF:00000FFF:qmclone:1:root@pam:"


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/version", {"release", "version", "repoid"}),
        ("/nodes/pve1/status", {"memory", "cpuinfo", "uptime", "loadavg", "pveversion"}),
        (VM + "/status/current", {"vmid", "name", "status", "qmpstatus", "agent", "tags", "maxmem", "cpus"}),
        (VM + "/config", {"name", "smbios1", "net0", "scsi0", "boot", "tags", "cores", "memory", "digest"}),
        ("/nodes/pve1/storage/local/status", {"storage", "content", "enabled", "active", "shared"}),
    ],
)
async def test_an_object_is_answered(pve, path, shape):
    await pve.clone("m1")
    assert shape <= set(await pve.get(path))


@pytest.mark.parametrize(
    ("path", "length", "shape"),
    [
        ("/cluster/status", 3, {"type", "name"}),
        ("/cluster/resources", 8, {"type", "id"}),
        ("/cluster/resources?type=node", 2, {"node", "maxmem"}),
        ("/cluster/resources?type=storage", 4, {"storage", "content", "node"}),
        ("/nodes", 2, {"node", "status"}),
        ("/nodes/pve1/qemu", 2, {"vmid", "maxmem"}),
        ("/nodes/pve2/qemu", 0, set()),
        ("/nodes/pve1/lxc", 0, set()),
        ("/nodes/pve1/storage", 2, {"storage", "content", "enabled", "active"}),
        ("/nodes/pve1/storage/local/content", 0, set()),
    ],
)
async def test_a_list_is_answered(pve, path, length, shape):
    await pve.clone("m1")
    found = await pve.get(path)
    assert len(found) == length
    assert all(shape <= set(item) for item in found)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("GET", "/nope", None, 501, "Method 'GET /nope' not implemented"),
        ("PATCH", "/version", None, 501, "Method 'PATCH /version' not implemented"),
        ("GET", VM + "/agent/nope", None, 501, f"Method 'GET {VM}/agent/nope' not implemented"),
        ("GET", "/nodes/pve1/storage/local/content/local:backup/x", None, 501, "Method 'GET"),
        ("GET", "/nodes/pve9/status", None, 500, NO_NODE),
        ("GET", "/nodes/pve9/qemu", None, 500, NO_NODE),
        ("GET", "/nodes/pve9/lxc", None, 500, NO_NODE),
        ("GET", "/nodes/pve9/storage", None, 500, NO_NODE),
        ("GET", "/nodes/pve1/qemu/555/status/current", None, 500, GONE),
        ("GET", "/nodes/pve1/qemu/555/config", None, 500, GONE),
        ("POST", "/nodes/pve1/qemu/555/config", {"cores": 1}, 500, GONE),
        ("POST", "/nodes/pve1/qemu/555/clone", {"newid": 102}, 500, GONE),
        ("PUT", "/nodes/pve1/qemu/555/resize", {"disk": "scsi0", "size": "1G"}, 500, GONE),
        ("POST", "/nodes/pve1/qemu/555/status/start", None, 500, GONE),
        ("POST", "/nodes/pve1/qemu/555/migrate", {"target": "pve2"}, 500, GONE),
        ("GET", "/nodes/pve1/qemu/555/agent/get-osinfo", None, 500, GONE),
        ("DELETE", "/nodes/pve1/qemu/555", None, 500, GONE),
        ("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 101}, 500, "unable to create VM 101: config file already"),
        (
            "POST",
            "/nodes/pve1/qemu/9000/clone",
            {"newid": 102, "storage": "nas", "full": 1},
            500,
            "storage 'nas' does not exist",
        ),
        ("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 102, "storage": "local", "full": 1}, 500, "storage 'local'"),
        ("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 102, "target": "pve9"}, 500, NO_NODE),
        ("POST", VM + "/clone", {"newid": 102, "full": 0}, 500, "Linked clone feature is not supported"),
        ("POST", VM + "/config", {"ide0": "nas:iso/x.iso,media=cdrom"}, 500, "storage 'nas' does not exist"),
        ("PUT", VM + "/resize", {"disk": "scsi9", "size": "1G"}, 500, "disk 'scsi9' does not exist"),
        ("GET", "/nodes/pve1/storage/nas/status", None, 500, "storage 'nas' does not exist"),
        ("GET", "/nodes/pve1/storage/local/content/local:iso/x.iso", None, 500, "volume_size_info on"),
        ("GET", f"/nodes/pve1/tasks/{UNKNOWN_TASK}/status", None, 500, "no such task"),
        ("GET", VM + "/agent/get-osinfo", None, 500, "VM 101 is not running"),
        ("POST", VM + "/agent/ping", None, 500, "VM 101 is not running"),
        ("POST", VM + "/agent/exec", {"command": ["ls"]}, 500, "VM 101 is not running"),
        ("GET", VM + "/agent/exec-status?pid=1", None, 500, "VM 101 is not running"),
    ],
)
async def test_what_is_not_there_is_refused_in_pves_words(pve, method, path, body, status, reason):
    await pve.clone("m1")
    answer = await pve.ask(method, path, body)
    assert answer.status == status
    assert answer.reason.startswith(reason)
    assert answer.data is None


@pytest.mark.parametrize(
    ("method", "path", "body", "field", "fault"),
    [
        ("GET", "/version?a=b", None, "a", "not defined in schema"),
        ("GET", "/cluster/nextid?vmid=101", None, "vmid", "VM 101 already exists"),
        ("GET", "/cluster/nextid?vmid=99", None, "vmid", "minimum value of 100"),
        ("GET", "/cluster/nextid?vmid=x", None, "vmid", "type check ('integer') failed"),
        ("GET", "/cluster/resources?type=pool", None, "type", "enumeration"),
        ("GET", "/nodes/pve1/tasks/abc/status", None, "upid", "unable to parse worker upid"),
        ("POST", VM + "/config", {}, "config", "no options specified"),
        ("POST", VM + "/config", [1], "body", "must be a JSON object"),
        ("POST", VM + "/config", {"net0": "virtio,bridge=vmbr7,tag=5000"}, "net0", "net0.tag: value must have a max"),
        ("POST", VM + "/config", {"net32": "virtio,bridge=vmbr7"}, "net32", "not defined in schema"),
        ("POST", VM + "/config", {"cores": "many"}, "cores", "type check ('integer')"),
        ("POST", VM + "/config", {"cores": 0}, "cores", "minimum value of 1"),
        ("POST", VM + "/config", {"memory": 10**9}, "memory", "maximum value"),
        ("POST", VM + "/config", {"description": 7}, "description", "type check ('string')"),
        ("POST", VM + "/config", {"tags": "ok;n:o"}, "tags", "invalid characters in tag 'n:o'"),
        ("POST", VM + "/config", {"name": "no_name"}, "name", "valid DNS name"),
        ("POST", "/nodes/pve1/qemu/9000/clone", {}, "newid", "property is missing"),
        ("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 99}, "newid", "minimum value of 100"),
        ("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 102, "name": "a b"}, "name", "valid DNS name"),
        ("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 102, "full": "yes"}, "full", "type check ('boolean')"),
        (
            "POST",
            "/nodes/pve1/qemu/9000/clone",
            {"newid": 102, "full": 0, "storage": "vms"},
            "storage",
            "linked clones",
        ),
        ("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 102, "disk": "x"}, "disk", "not defined in schema"),
        ("PUT", VM + "/resize", {"disk": "scsi0", "size": "big"}, "size", "regex"),
        ("PUT", VM + "/resize", {"disk": "scsi0"}, "size", "property is missing"),
        ("POST", VM + "/migrate", {"target": "pve1"}, "target", "target is local node"),
        ("POST", VM + "/agent/exec", {"command": "ls"}, "command", "type check ('array')"),
        ("POST", "/nodes/pve1/storage/local/upload", {"content": "iso"}, "filename", "property is missing"),
        ("GET", "/nodes/pve1/storage/local/content/vms:iso/x.iso", None, "volume", "storage ID mismatch"),
    ],
)
async def test_malformed_requests_name_the_field(pve, method, path, body, field, fault):
    await pve.clone("m1")
    answer = await pve.ask(method, path, body)
    assert (answer.status, answer.reason) == (400, BAD)
    assert fault in answer.errors[field]


async def test_several_faults_are_told_at_once(pve):
    await pve.clone("m1")
    answer = await pve.ask("POST", VM + "/config", {"cores": 0, "net0": "virtio", "foo": "x"})
    assert sorted(answer.errors) == ["cores", "foo", "net0"]


@pytest.mark.parametrize(
    ("authorization", "reason"),
    [
        (None, "No ticket"),
        ("Basic abc", "No ticket"),
        ("PVEAPIToken=root@pam!capmox", "unable to parse API token"),
        ("PVEAPIToken=root@pam=secret", "unable to parse API token"),
        ("PVEAPIToken=root@pam!other=secret", "no such token 'other' for user 'root@pam'"),
        (f"PVEAPIToken={ADMIN}=wrong", "invalid token value!"),
    ],
)
async def test_who_cannot_say_who_he_is_gets_401(pve, authorization, reason):
    headers = {} if authorization is None else {"Authorization": authorization}
    answer = await pve.ask("GET", "/version", headers=headers)
    assert (answer.status, answer.reason) == (401, reason)


async def test_a_read_only_token_may_look_and_gets_403_for_more(pve):
    headers = {"Authorization": f"PVEAPIToken={AUDITOR}=glass"}
    assert (await pve.ask("GET", "/nodes/pve1/qemu/9000/config", headers=headers)).status == 200
    answer = await pve.ask("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 102}, headers=headers)
    assert (answer.status, answer.reason.split(" (")[0]) == (403, "Permission check failed")
    assert 102 not in pve.held.cluster.vms


@pytest.mark.parametrize(
    ("changes", "exit_status"),
    [
        ({"boot": "order=scsi0;ide0"}, "invalid bootorder: device 'ide0' does not exist'"),
        ({"delete": "scsi0"}, "invalid bootorder: device 'scsi0' does not exist'"),
        ({"boot": "order=ide0", "ide0": "none,media=cdrom"}, "OK"),
        ({"delete": "net0,description"}, "OK"),
        ({"name": "renamed"}, "OK"),
    ],
)
async def test_some_faults_show_in_the_task_alone(pve, changes, exit_status):
    await pve.clone("m1")
    before = await pve.get(VM + "/config")
    assert await pve.task("POST", VM + "/config", changes) == exit_status
    assert (await pve.get(VM + "/config") != before) == (exit_status == "OK")


async def test_start_refusals_show_in_the_task(pve):
    await pve.clone("m1")
    assert await pve.task("POST", "/nodes/pve1/qemu/9000/status/start") == "you can't start a vm if it's a template"
    assert await pve.task("POST", VM + "/config", {"net0": "virtio,bridge=vmbr9"}) == "OK"
    failed = await pve.ask("POST", VM + "/status/start")
    pve.clock.now += 10
    assert await pve.exit_status(failed.data) == "bridge 'vmbr9' does not exist"
    log = await pve.get(f"/nodes/pve1/tasks/{failed.data}/log?start=0&limit=50")
    assert log == [{"n": 1, "t": "TASK ERROR: bridge 'vmbr9' does not exist"}]
    assert await pve.task("POST", VM + "/config", {"net0": "virtio,bridge=vmbr7"}) == "OK"
    assert await pve.task("POST", VM + "/status/start") == "OK"
    assert await pve.task("POST", VM + "/status/start") == "VM 101 already running"


@pytest.mark.parametrize(
    ("size", "exit_status", "after"),
    [("20G", "OK", "20G"), ("+512M", "OK", "10752M"), ("1G", "shrinking disks is not supported", "10G")],
)
async def test_disks_grow_and_never_shrink(pve, size, exit_status, after):
    await pve.clone("m1")
    assert await pve.task("PUT", VM + "/resize", {"disk": "scsi0", "size": size}) == exit_status
    assert (await pve.get(VM + "/config"))["scsi0"] == f"vms:vm-101-disk-0,size={after}"


async def test_a_protected_vm_is_not_destroyed(pve):
    await pve.clone("m1")
    assert await pve.task("POST", VM + "/config", {"protection": 1}) == "OK"
    assert (await pve.ask("DELETE", VM)).reason == "can't remove VM 101 - protection mode enabled"


async def test_the_agent_is_silent_until_the_guest_is_up(pve):
    await pve.clone("m1")
    assert await pve.task("POST", VM + "/status/start") == "OK"
    assert (await pve.ask("GET", VM + "/agent/get-osinfo")).reason == "QEMU guest agent is not running"
    pve.clock.now += BOOT_SECONDS
    assert (await pve.ask("POST", VM + "/agent/ping")).status == 200
    assert (await pve.ask("POST", VM + "/agent/exec", {"command": ["reboot"]})).reason.startswith("Agent error")
    assert (await pve.ask("GET", VM + "/agent/exec-status?pid=4")).reason == "Agent error: PID 4 does not exist"
    assert await pve.task("POST", VM + "/config", {"agent": "0"}) == "OK"
    assert (await pve.ask("GET", VM + "/agent/get-osinfo")).reason == "No QEMU guest agent configured"


@pytest.mark.parametrize(
    ("name", "content", "storage", "kind", "status", "wrong"),
    [
        ("x.iso", b"iso", "local", "iso", 200, ""),
        ("x.iso", b"iso", "vms", "iso", 500, "storage 'vms' does not support 'iso' content"),
        ("x.iso", b"iso", "nas", "iso", 500, "storage 'nas' does not exist"),
        ("x.iso", b"", "local", "iso", 500, "temporary file of the upload is empty"),
        ("x.txt", b"iso", "local", "iso", 400, "filename"),
        ("x.iso", b"iso", "local", "vztmpl", 400, "content"),
    ],
)
async def test_uploads(pve, name, content, storage, kind, status, wrong):
    answer = await pve.upload(name, content, storage, kind)
    assert answer.status == status
    assert wrong in (answer.errors if status == 400 else str(answer.reason))
    pve.clock.now += 10
    found = await pve.get("/nodes/pve1/storage/local/content")
    assert [item["volid"] for item in found] == (["local:iso/x.iso"] if status == 200 else [])


async def test_a_body_may_be_a_form_and_a_broken_one_is_refused(pve):
    await pve.clone("m1")
    assert await pve.task("POST", VM + "/config", data={"cores": "4"}) == "OK"
    assert (await pve.get(VM + "/config"))["cores"] == 4
    broken = await pve.ask(
        "POST", VM + "/config", data=b"{", headers=pve.headers | {"Content-Type": "application/json"}
    )
    assert (broken.status, list(broken.errors)) == (400, ["body"])


async def test_a_reason_phrase_stays_one_line(pve):
    answer = await pve.ask("POST", "/nodes/pve1/qemu/9000/clone", {"newid": 102, "target": "a\r\nX-Evil: 1"})
    assert answer.status == 500
    assert "a  X-Evil: 1" in str(answer.reason)
