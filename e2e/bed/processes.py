"""Start and stop the bed's processes, each where it belongs: network namespace, mounts of its own, user, limits, log.

A process never outlives the one that started it: the kernel kills it (PR_SET_PDEATHSIG) even after a kill -9 of ours.
The launch is a chain of util-linux commands that exec one another, so `pid` is the program's own and no shell stays.
This module does not restart anything; whoever starts a process decides what its end means.
"""

import contextlib
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from e2e.bed.errors import ProcessError

TAIL_LINES = 15
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount that only the process sees: `source` (file or directory) bound on `target`, or an empty tmpfs.

    A target must exist, unless an earlier mount of the same command covers it (then it is made inside that one): so
    for the usual token directory give a tmpfs on /run first, then bind on /run/secrets/kubernetes.io/serviceaccount.
    To override names, bind a file on /etc/hosts; rewriting that file in place (same inode) is seen at once.
    """

    target: Path
    source: Path | None = None
    readonly: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """What to run and where.

    name      for messages and logs
    argv      program and arguments; the program is found on PATH as usual
    log       file that gets stdout and stderr, appended; its directory is made
    env       the whole environment; None means ours
    netns     name of a network namespace (as in `ip netns`); None means ours
    mounts    in order; any mount gives the process a private mount namespace. Needs root, as netns does
    cwd       working directory, as seen before the mounts
    uid, gid  drop to these (no supplementary groups, no capabilities); None means stay
    limits    resource limits by prlimit's long names, such as {"nofile": 4096, "as": 2**30}
    """

    name: str
    argv: Sequence[str]
    log: Path
    env: Mapping[str, str] | None = None
    netns: str | None = None
    mounts: Sequence[Mount] = ()
    cwd: Path | None = None
    uid: int | None = None
    gid: int | None = None
    limits: Mapping[str, int] = field(default_factory=dict)


def launch_arguments(command: Command) -> list[str]:
    """The argument list that puts the command in its place. Raises ProcessError on a mount target that is not there."""
    chain: list[str] = []
    if command.netns is not None:
        chain += ["nsenter", f"--net=/run/netns/{command.netns}", "--"]
    if command.mounts:
        script = "; ".join([*_mount_steps(command), 'exec "$@"'])
        chain += ["unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-ec", script, "sh"]
    if command.limits:
        chain += ["prlimit", *(f"--{name}={value}" for name, value in sorted(command.limits.items())), "--"]
    chain += ["setpriv", "--pdeathsig", "KILL"]
    if command.gid is not None:
        chain += ["--regid", str(command.gid), "--clear-groups"]
    if command.uid is not None:
        chain += ["--reuid", str(command.uid), "--bounding-set", "-all", "--no-new-privs"]
    return [*chain, "--", *command.argv]


def _mount_steps(command: Command) -> list[str]:
    steps: list[str] = []
    covered: list[Path] = []
    for mount in command.mounts:
        # /var/run is a link to /run on most systems: judge by the real place.
        target = mount.target.resolve()
        inside = any(target.is_relative_to(above) for above in covered)
        quoted = shlex.quote(str(target))
        if not inside and not target.exists():
            raise ProcessError(f"{command.name}: {mount.target} does not exist; mount a tmpfs above it first")
        if mount.source is None:
            steps += [f"mkdir -p {quoted}"] if inside else []
            steps.append(f"mount -n -t tmpfs -o mode=755 tmpfs {quoted}")
        else:
            if not mount.source.exists():
                raise ProcessError(f"{command.name}: mount source {mount.source} does not exist")
            if inside and mount.source.is_dir():
                steps.append(f"mkdir -p {quoted}")
            elif inside:
                steps += [f"mkdir -p {shlex.quote(str(target.parent))}", f": >> {quoted}"]
            steps.append(f"mount -n --bind {shlex.quote(str(mount.source.resolve()))} {quoted}")
        if mount.readonly:
            steps.append(f"mount -n -o remount,bind,ro {quoted}")
        covered.append(target)
    return steps


class Process:
    """One running process. Made by `start`; all methods may be called from any thread."""

    def __init__(self, command: Command, child: "subprocess.Popen[bytes]", log_start: int) -> None:
        self.command = command
        self._child = child
        self._log_start = log_start
        self._swept = False

    @property
    def name(self) -> str:
        return self.command.name

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        code = self._child.poll()
        if code is not None:
            self._sweep()
        return code

    @property
    def alive(self) -> bool:
        return self.returncode is None

    def wait_ready(self, probe: Callable[[], bool], timeout: float, every: float = POLL_SECONDS) -> None:
        """Call `probe` until it says True; ProcessError when the process ends or `timeout` seconds pass first."""
        deadline = time.monotonic() + timeout
        while not probe():
            if not self.alive:
                raise ProcessError(f"{self.name} ended with {self.returncode} before it was ready\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise ProcessError(f"{self.name} was not ready after {timeout:.0f} s\n{self.log_tail()}")
            time.sleep(every)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and give the exit status. Raises ProcessError after `timeout` seconds."""
        try:
            code = self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise ProcessError(f"{self.name} still runs after {timeout} s") from None
        self._sweep()
        return code

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process alone; nothing happens when it has ended."""
        self._child.send_signal(number)

    def kill(self) -> int:
        """kill -9 of the process and of all it started; gives the exit status."""
        self._child.kill()
        return self.wait()

    def stop(self, grace: float = 10.0) -> int:
        """TERM, and after `grace` seconds KILL; what it started itself goes too. Gives the exit status."""
        self._child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(grace)
        return self.kill()

    def log_tail(self, lines: int = TAIL_LINES) -> str:
        """The last lines that this process (not an earlier one on the same file) wrote."""
        with self.command.log.open("rb") as log:
            log.seek(max(self._log_start, log.seek(0, os.SEEK_END) - 64_000))
            last = log.read().decode(errors="replace").splitlines()[-lines:]
        return "\n".join([f"last lines of {self.command.log}:", *(f"  {line}" for line in last)])

    def _sweep(self) -> None:
        # It led a session, so its pid names the group of whatever it forked. Only once, and when its end is first
        # seen: an empty group's number may go to a stranger later.
        if not self._swept:
            self._swept = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, signal.SIGKILL)


def start(command: Command) -> Process:
    """Start the process and return at once. Raises ProcessError when it cannot even be launched."""
    arguments = launch_arguments(command)
    command.log.parent.mkdir(parents=True, exist_ok=True)
    with command.log.open("ab") as log:
        log_start = log.tell()

        def spawn() -> "subprocess.Popen[bytes]":
            return subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=None if command.env is None else dict(command.env),
                cwd=command.cwd,
                start_new_session=True,
            )

        try:
            child = _SPAWNER.run(spawn)
        except OSError as error:
            raise ProcessError(f"{command.name} cannot be started: {error}") from error
    return Process(command, child, log_start)


def stop_all(processes: Sequence[Process], grace: float = 10.0) -> None:
    """Stop them last-started first: TERM to all at once, so the wait is that of the slowest one."""
    for process in reversed(processes):
        process.send(signal.SIGTERM)
    deadline = time.monotonic() + grace
    for process in reversed(processes):
        process.stop(max(0.1, deadline - time.monotonic()))


class _Spawner:
    """One thread that forks for everybody and lives as long as we do.

    The kernel's parent-death signal follows the *thread* that forked: a child forked from a worker thread would be
    killed when that worker ends.
    """

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[tuple[Callable[[], subprocess.Popen[bytes]], Future[subprocess.Popen[bytes]]]]
        self._work = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._owner = 0

    def run(self, spawn: Callable[[], "subprocess.Popen[bytes]"]) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._thread is None or self._owner != os.getpid():
                # A fork of ours (a daemon) has no threads but its first: it needs a spawner of its own.
                self._owner = os.getpid()
                self._thread = threading.Thread(target=self._serve, name="spawner", daemon=True)
                self._thread.start()
        done: Future[subprocess.Popen[bytes]] = Future()
        self._work.put((spawn, done))
        return done.result()

    def _serve(self) -> None:
        while True:
            spawn, done = self._work.get()
            try:
                done.set_result(spawn())
            except OSError as error:
                done.set_exception(error)


_SPAWNER = _Spawner()
