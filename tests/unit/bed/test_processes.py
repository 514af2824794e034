"""The chain that launches a process (as data), and small real processes that need no root."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from e2e.bed.errors import ProcessError
from e2e.bed.processes import Command, Mount, Process, launch_arguments, start, stop_all

PARENT = """
import sys
from pathlib import Path
from e2e.bed.processes import Command, start
process = start(Command("child", ["sleep", "600"], Path(sys.argv[1])))
print(process.pid, flush=True)
sys.stdin.read()
"""


def command(tmp_path: Path, script: str, **fields) -> Command:
    return Command("it", ["sh", "-c", script], tmp_path / "it.log", **fields)


def said(process: Process, word: str) -> None:
    process.wait_ready(lambda: word in process.command.log.read_text(), 5, every=0.005)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_plain_command_is_only_tied_to_us(tmp_path: Path) -> None:
    assert launch_arguments(Command("it", ["true"], tmp_path / "log")) == [
        *("setpriv", "--pdeathsig", "KILL", "--", "true")
    ]


def test_places_are_entered_from_the_outside_in(tmp_path: Path) -> None:
    (tmp_path / "hosts").touch()
    wanted = Command(
        "it",
        ["program", "-x"],
        tmp_path / "log",
        netns="pxbed-3",
        mounts=[Mount(Path("/etc/hosts"), tmp_path / "hosts")],
        uid=65532,
        gid=65532,
        limits={"nofile": 1024},
    )
    arguments = launch_arguments(wanted)
    order = [word for word in arguments if word in ("nsenter", "unshare", "prlimit", "setpriv", "program")]
    assert order == ["nsenter", "unshare", "prlimit", "setpriv", "program"]
    assert "--net=/run/netns/pxbed-3" in arguments
    assert "--nofile=1024" in arguments
    assert arguments[arguments.index("--reuid") + 1] == "65532"
    assert f"mount -n --bind {tmp_path}/hosts /etc/hosts" in " ".join(arguments)


def test_a_target_under_an_earlier_mount_is_made_inside_it(tmp_path: Path) -> None:
    (tmp_path / "tokens").mkdir()
    mounts = [Mount(Path("/run")), Mount(Path("/var/run/secrets/here"), tmp_path / "tokens", readonly=True)]
    script = " ".join(launch_arguments(Command("it", ["true"], tmp_path / "log", mounts=mounts)))
    tmpfs, made = script.index("mount -n -t tmpfs"), script.index("mkdir -p /run/secrets/here")
    assert tmpfs < made < script.index("--bind") < script.index("remount,bind,ro /run/secrets/here")


def test_nothing_is_ever_made_on_the_machine_itself(tmp_path: Path) -> None:
    mounts = [Mount(tmp_path / "missing", tmp_path)]
    with pytest.raises(ProcessError, match="missing does not exist; mount a tmpfs above it first"):
        launch_arguments(Command("it", ["true"], tmp_path / "log", mounts=mounts))


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    mounts = [Mount(Path("/etc/hosts"), tmp_path / "missing")]
    with pytest.raises(ProcessError, match=f"source {tmp_path}/missing does not exist"):
        launch_arguments(Command("it", ["true"], tmp_path / "log", mounts=mounts))


def test_an_early_death_is_told_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "it.log").write_text("words of an earlier run\n")
    process = start(command(tmp_path, "echo no port free; exit 4"))
    with pytest.raises(ProcessError, match=r"it ended with 4 before it was ready") as caught:
        process.wait_ready(lambda: False, 5)
    assert "no port free" in str(caught.value)
    assert "earlier run" not in str(caught.value)


def test_a_program_that_is_not_there_is_an_early_death(tmp_path: Path) -> None:
    process = start(Command("it", ["/nowhere/program"], tmp_path / "log"))
    with pytest.raises(ProcessError, match=r"(?s)before it was ready.*/nowhere/program"):
        process.wait_ready(lambda: False, 5)


def test_not_ready_in_time(tmp_path: Path) -> None:
    process = start(command(tmp_path, "exec sleep 60"))
    with pytest.raises(ProcessError, match="it was not ready after 0 s"):
        process.wait_ready(lambda: False, 0.05)
    process.kill()


def test_stop_asks_first(tmp_path: Path) -> None:
    process = start(command(tmp_path, 'trap "echo bye; exit 7" TERM; echo up; while :; do sleep 0.01; done'))
    said(process, "up")
    assert process.stop() == 7
    assert "bye" in process.log_tail()
    assert process.stop() == 7


def test_stop_kills_what_does_not_listen(tmp_path: Path) -> None:
    process = start(command(tmp_path, 'trap "" TERM; echo up; while :; do sleep 0.01; done'))
    said(process, "up")
    assert process.stop(grace=0.05) == -signal.SIGKILL


def test_what_it_started_goes_with_it(tmp_path: Path) -> None:
    process = start(command(tmp_path, "sleep 600 & echo child $!; wait"))
    said(process, "child")
    child = int(process.command.log.read_text().split()[1])
    process.stop()
    deadline = time.monotonic() + 5
    while not gone(child):
        assert time.monotonic() < deadline, f"{child} lives"
        time.sleep(0.01)


def test_stop_all_waits_for_the_slowest_only(tmp_path: Path) -> None:
    script = 'trap "sleep 0.2; exit 0" TERM; echo up; while :; do sleep 0.01; done'
    processes = [start(Command(f"p{n}", ["sh", "-c", script], tmp_path / f"{n}.log")) for n in range(4)]
    for process in processes:
        said(process, "up")
    begun = time.monotonic()
    stop_all(processes)
    assert time.monotonic() - begun < 0.7
    assert [process.returncode for process in processes] == [0, 0, 0, 0]


def test_environment_directory_and_pid_are_the_programs_own(tmp_path: Path) -> None:
    process = start(command(tmp_path, 'echo "$$ $WORD $(pwd)"', env={"WORD": "x", "PATH": "/bin"}, cwd=tmp_path))
    assert process.wait(5) == 0
    assert process.command.log.read_text().split() == [str(process.pid), "x", str(tmp_path)]


def test_a_process_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    """The kernel ties a child to the thread that forked it; ours must be tied to the whole process."""
    started: list[Process] = []
    thread = threading.Thread(target=lambda: started.append(start(command(tmp_path, "exec sleep 60"))))
    thread.start()
    thread.join()
    time.sleep(0.05)
    assert started[0].alive
    started[0].kill()


def test_a_process_dies_with_us_even_by_sigkill(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "log")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )
    assert parent.stdout is not None
    assert parent.stdin is not None
    with parent.stdin, parent.stdout:
        pid = int(parent.stdout.readline())
        deadline = time.monotonic() + 5
        # Until the chain has come to the program itself, nothing ties it yet.
        while Path(f"/proc/{pid}/comm").read_text() != "sleep\n":
            assert time.monotonic() < deadline
            time.sleep(0.005)
        parent.kill()
        parent.wait()
        while not gone(pid):
            assert time.monotonic() < deadline, f"{pid} lives"
            time.sleep(0.005)
