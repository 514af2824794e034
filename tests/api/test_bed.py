"""The bed on real parts: beds side by side, restarts that keep data, ends and deaths that leave nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from e2e.bed import leftovers, slots
from e2e.bed.bed import Bed
from e2e.bed.control_plane import API_SERVER, ETCD
from e2e.bed.errors import BedError, ProcessError
from e2e.bed.network import bed_namespace
from e2e.bed.parts import LIGHT
from e2e.bed.processes import Command, start
from e2e.bed.progress import Progress

QUIET = Progress(quiet=True)
# A bed whose program says where it is and then waits to be killed.
HELD_BED = """
import signal, sys
from pathlib import Path
from e2e.bed.bed import Bed
from e2e.bed.parts import LIGHT
with Bed(sys.argv[1], LIGHT, base=Path(sys.argv[2])) as bed:
    network = bed.network.pod_namespace("orphan")
    bed.start_process("sleeper", ["sleep", "600"])
    print(bed.index, flush=True)
    signal.pause()
"""


def namespaces(index: int) -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    own = bed_namespace(index)
    return [name for name in (line.split()[0] for line in listed.splitlines()) if name == own or own + "-" in name]


def cables(index: int) -> list[str]:
    listed = subprocess.run(["ip", "-j", "link"], capture_output=True, text=True, check=True).stdout
    return [link["ifname"] for link in json.loads(listed) if link["ifname"] == bed_namespace(index)]


def processes_with(text: str) -> list[str]:
    """Command lines of live processes that mention `text`."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it ended while we looked
        if text in line:
            found.append(line)
    return found


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory):
    with Bed(f"light-{os.getpid()}", LIGHT, base=tmp_path_factory.mktemp("beds"), progress=QUIET) as bed:
        yield bed


def test_two_beds_share_nothing_and_leave_only_logs(light: Bed, tmp_path: Path) -> None:
    with Bed(f"other-{os.getpid()}", LIGHT, base=tmp_path, progress=QUIET) as other:
        assert other.index != light.index
        other.kubectl("create", "configmap", "mine")
        with pytest.raises(BedError, match="NotFound"):
            light.kubectl("get", "configmap", "mine")
        assert namespaces(other.index)
        assert {light.name, other.name} <= {record.name for record in slots.live()}
        scratch, directory, index = Path(f"/dev/shm/{bed_namespace(other.index)}"), other.directory, other.index

    assert namespaces(index) == []
    assert cables(index) == []
    assert not scratch.exists()
    assert processes_with(str(directory)) == []
    assert [path.name for path in directory.iterdir()] == ["logs"]
    assert (directory / "logs" / "kube-apiserver.log").stat().st_size > 0
    assert light.kubectl("get", "namespace", "default", "-o", "name") == "namespace/default\n"


def test_a_live_beds_name_is_refused(light: Bed, tmp_path: Path) -> None:
    with pytest.raises(BedError, match=f"'{light.name}' is up"):
        Bed(light.name, LIGHT, base=tmp_path, progress=QUIET).start()
    assert light.kubectl("get", "namespace", "default", "-o", "name") == "namespace/default\n"


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("part", [API_SERVER, ETCD])
def test_restarts_keep_what_was_stored(light: Bed, part: str, kill: bool) -> None:
    name = f"{part}-{str(kill).lower()}"
    light.kubectl("create", "configmap", name)
    before = light.control_plane.process(part).pid
    light.control_plane.restart(part, kill=kill)
    assert light.control_plane.process(part).pid != before
    assert light.kubectl("get", "configmap", name, "-o", "name") == f"configmap/{name}\n"
    light.kubectl("create", "configmap", f"{name}-after")


def test_controllers_work(light: Bed) -> None:
    """Owner references, token issuing and namespaces' ends are what the stories rely on."""
    light.kubectl("create", "namespace", "short")
    light.kubectl("wait", "--for=create", "--timeout=20s", "-n", "short", "serviceaccount/default")
    kubeconfig = light.service_account_kubeconfig("short", "default")
    light.kubectl(
        "create", "rolebinding", "view", "-n", "short", "--clusterrole=view", "--serviceaccount=short:default"
    )
    ask = ["--kubeconfig", str(kubeconfig), "auth", "can-i", "list", "pods", "-n", "short"]
    assert light.kubectl(*ask) == "yes\n"
    light.kubectl("delete", "namespace", "short", "--timeout=30s")


def test_pods_reach_the_server_and_each_other(light: Bed, tmp_path: Path) -> None:
    pods = [light.network.pod_namespace(name) for name in ("one", "two")]
    assert len({pod.ip for pod in pods}) == 2
    server = f"""
import socket, sys
listener = socket.create_server(("{pods[0].ip}", 7000))
print("listening", flush=True)
listener.accept()[0].sendall(b"hello")
"""
    first = start(Command("one", [sys.executable, "-c", server], tmp_path / "one.log", netns=pods[0].netns))
    first.wait_ready(lambda: "listening" in first.command.log.read_text(), 10)
    client = f"""
import socket, time
print(socket.create_connection(("{pods[0].ip}", 7000), 5).recv(5).decode())
socket.create_connection(("{light.network.address}", 6443), 5)
begun = time.monotonic()
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as error:
    print(error.strerror, time.monotonic() - begun < 1)
"""
    second = start(Command("two", [sys.executable, "-c", client], tmp_path / "two.log", netns=pods[1].netns))
    assert second.wait(10) == 0, second.log_tail()
    assert second.command.log.read_text().splitlines() == ["hello", "No route to host True"]
    assert first.wait(10) == 0
    for pod in pods:
        light.network.release(pod)
    assert namespaces(light.index) == [light.network.namespace]


def test_a_killed_bed_dies_whole_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    name = f"killed-{os.getpid()}"
    holder = subprocess.Popen(
        [sys.executable, "-c", HELD_BED, name, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert holder.stdout is not None
    with holder.stdout:
        index = int(holder.stdout.readline())
    assert len(namespaces(index)) == 2
    assert processes_with(str(tmp_path / name))
    holder.send_signal(signal.SIGKILL)
    holder.wait()

    deadline = time.monotonic() + 5
    while (alive := processes_with(str(tmp_path / name))) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive == []
    assert name not in {record.name for record in slots.live()}
    assert (tmp_path / name / "pki").exists()

    leftovers.clean(QUIET)
    assert namespaces(index) == []
    assert cables(index) == []
    assert [path.name for path in (tmp_path / name).iterdir()] == ["logs"]


def test_a_terminated_bed_cleans_up_itself(tmp_path: Path) -> None:
    name = f"ended-{os.getpid()}"
    holder = subprocess.Popen(
        [sys.executable, "-c", HELD_BED, name, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert holder.stdout is not None
    with holder.stdout:
        index = int(holder.stdout.readline())
    holder.terminate()
    assert holder.wait(30) == 128 + signal.SIGTERM
    assert namespaces(index) == []
    assert cables(index) == []


def run_bed(*words: str) -> "subprocess.Popen[str]":
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    command = [sys.executable, "-m", "e2e.bed", *words]
    pipe = subprocess.PIPE
    # Where the tests run in a shell's background, SIGINT is ignored, and what they start would inherit that.
    return subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def test_up_leaves_a_bed_running_that_down_ends() -> None:
    name = f"left-{os.getpid()}"
    shown, _ = run_bed("up", "--light", "--name", name).communicate(timeout=60)
    try:
        assert f"bed '{name}' is up at https://10.213." in shown
        kubeconfig = shown.split("KUBECONFIG=")[1].split()[0]
        kubectl = Path(shown.split("export PATH=")[1].split(":")[0]) / "kubectl"
        got = subprocess.run(
            [kubectl, "--kubeconfig", kubeconfig, "get", "ns", "default"], capture_output=True, check=False
        )
        assert got.returncode == 0
        (record,) = (record for record in slots.live() if record.name == name)
        assert record.background
    finally:
        ended = run_bed("down", "--name", name)
        ended.communicate(timeout=60)
    assert ended.returncode == 0
    assert name not in {record.name for record in slots.live()}
    assert namespaces(record.index) == []


def test_interrupting_up_leaves_nothing() -> None:
    name = f"broken-off-{os.getpid()}"
    starting = run_bed("up", "--light", "--name", name)
    deadline = time.monotonic() + 30
    while not (found := [record for record in slots.live() if record.name == name]):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    starting.send_signal(signal.SIGINT)
    starting.communicate(timeout=30)
    assert starting.returncode == 130
    assert name not in {record.name for record in slots.live()}
    assert namespaces(found[0].index) == []


def test_a_part_that_cannot_start_says_why_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of the wrong kind among the assets: its own words reach the user, and nothing stays behind."""
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (assets / name).write_text("#!/bin/sh\necho I am no server >&2\nexit 3\n")
        (assets / name).chmod(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    bed = Bed(f"broken-{os.getpid()}", LIGHT, base=tmp_path, progress=QUIET)
    with pytest.raises(ProcessError, match=r"(?s)kube-apiserver ended with 3.*I am no server"):
        bed.start()
    assert namespaces(bed.index) == []
    assert bed.name not in {record.name for record in slots.live()}
