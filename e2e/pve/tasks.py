"""PVE's tasks: work that was accepted, runs for a while, and ends as OK or with a message.

There is no timer. Whoever asks first calls `advance(now)`, which ends every task whose time has come, in order; so a
task's effect is seen exactly when PVE's would be, and tests pass in the clock they like. Tasks on one VM run one after
the other, because PVE takes the VM's lock for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from e2e.pve.errors import PveError
from e2e.pve.faults import FaultBook

OK = "OK"
_UPID = re.compile(
    r"UPID:(?P<node>[A-Za-z0-9-]+):(?P<pid>[0-9A-F]{8}):(?P<pstart>[0-9A-F]{8}):(?P<start>[0-9A-F]{8})"
    r":(?P<kind>[^:\s]+):(?P<subject>[^:\s]*):(?P<user>[^:\s]+):"
)


@dataclass(frozen=True, slots=True)
class Upid:
    """A task's name, nine colon fields as text. `started` in seconds since the epoch, `subject` a VM id or empty."""

    node: str
    pid: int
    pstart: int
    started: int
    kind: str
    subject: str
    user: str

    def __str__(self) -> str:
        return (
            f"UPID:{self.node}:{self.pid:08X}:{self.pstart:08X}:{self.started:08X}"
            f":{self.kind}:{self.subject}:{self.user}:"
        )


def parse_upid(text: str) -> Upid:
    """Read a UPID; raises ValueError when the text is not one."""
    found = _UPID.fullmatch(text)
    if found is None:
        raise ValueError(f"unable to parse worker upid '{text}'")
    return Upid(
        node=found["node"],
        pid=int(found["pid"], 16),
        pstart=int(found["pstart"], 16),
        started=int(found["start"], 16),
        kind=found["kind"],
        subject=found["subject"],
        user=found["user"],
    )


@dataclass(slots=True)
class Task:
    """`ends` in seconds since the epoch. `exit_status` is None while it runs, then "OK" or what went wrong."""

    upid: Upid
    ends: float
    work: Callable[[], None]
    undo: Callable[[], None] | None = None
    doomed: str | None = None
    exit_status: str | None = None
    log: list[str] = field(default_factory=list)

    @property
    def running(self) -> bool:
        return self.exit_status is None


@dataclass(frozen=True, slots=True)
class Request:
    """Who asks (`user@realm!token`), and when (seconds since the epoch)."""

    user: str
    now: float


class TaskBoard:
    """All tasks that ever were. Each takes `usual_seconds` unless its caller or a fault says otherwise."""

    def __init__(self, faults: FaultBook, usual_seconds: float) -> None:
        self._faults = faults
        self._usual_seconds = usual_seconds
        self._tasks: dict[str, Task] = {}
        self._running: list[Task] = []

    def start(
        self,
        asked: Request,
        node: str,
        kind: str,
        subject: str,
        work: Callable[[], None],
        *,
        undo: Callable[[], None] | None = None,
        seconds: float | None = None,
    ) -> Upid:
        """Queue work that begins once the tasks before it on the same subject are done.

        `undo` runs when the work is refused, or when a fault makes the task fail in its stead.
        """
        slow = self._faults.seconds_of_task(kind)
        usual = self._usual_seconds if seconds is None else seconds
        pid = len(self._tasks) + 1
        upid = Upid(node, pid, pstart=pid * 100, started=int(asked.now), kind=kind, subject=subject, user=asked.user)
        queued = [task.ends for task in self._running if subject and task.upid.subject == subject]
        ends = max([asked.now, *queued]) + (usual if slow is None else slow)
        task = Task(upid, ends, work, undo, doomed=self._faults.failure_of_task(kind))
        self._tasks[str(upid)] = task
        self._running.append(task)
        return upid

    def advance(self, now: float) -> None:
        """End every task that is due by `now`, earliest end first."""
        due = [task for task in self._running if task.ends <= now]
        self._running = [task for task in self._running if task.ends > now]
        for task in sorted(due, key=lambda task: task.ends):
            self._end(task)

    def find(self, upid: str) -> Task | None:
        return self._tasks.get(upid)

    def all(self) -> tuple[Task, ...]:
        return tuple(self._tasks.values())

    def pending(self, subject: str, kind: str) -> bool:
        return any(task.upid.subject == subject and task.upid.kind == kind for task in self._running)

    @staticmethod
    def _end(task: Task) -> None:
        try:
            if task.doomed is not None:
                raise PveError(500, task.doomed)
            task.work()
        except PveError as refusal:
            task.exit_status = refusal.reason
            task.log.append(f"TASK ERROR: {refusal.reason}")
            if task.undo is not None:
                task.undo()
        else:
            task.exit_status = OK
            task.log.append("TASK OK")
