"""Faults a story asks for: tasks that fail or drag on, requests that are refused. Each counts down and is then gone.

Pure bookkeeping: it says what is to go wrong; the server and the cluster do it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Literal

Kind = Literal["task-fails", "task-slow", "request-refused"]
_FIELDS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "task-fails": {"task": str, "message": str},
    "task-slow": {"task": str, "seconds": (int, float)},
    "request-refused": {"method": str, "path": str, "status": int, "message": str},
}


class FaultError(ValueError):
    """What was asked for is not a fault; the text says which field is wrong."""


@dataclass(slots=True)
class Fault:
    """`task` is PVE's task type (`qmclone`, `qmstart`, `imgcopy`, ...); `path` is a shell pattern below /api2/json.

    `times` counts what is left; `message` becomes the task's exit status or the request's reason phrase.
    """

    kind: Kind
    times: int = 1
    task: str = ""
    seconds: float = 0.0
    method: str = ""
    path: str = ""
    status: int = 500
    message: str = ""


class FaultBook:
    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, wanted: object) -> None:
        """Take one fault as decoded JSON; raises FaultError."""
        self._faults.append(parse_fault(wanted))

    def clear(self) -> None:
        self._faults.clear()

    def left(self) -> list[dict[str, object]]:
        return [asdict(fault) for fault in self._faults]

    def failure_of_task(self, task: str) -> str | None:
        """The message this task is to fail with, if any."""
        fault = next((f for f in self._faults if f.kind == "task-fails" and fnmatchcase(task, f.task)), None)
        return self._spend(fault).message if fault else None

    def seconds_of_task(self, task: str) -> float | None:
        """How long this task is to take, if a fault says so."""
        fault = next((f for f in self._faults if f.kind == "task-slow" and fnmatchcase(task, f.task)), None)
        return self._spend(fault).seconds if fault else None

    def refusal_of_request(self, method: str, path: str) -> Fault | None:
        refusals = (f for f in self._faults if f.kind == "request-refused")
        fault = next((f for f in refusals if f.method == method and fnmatchcase(path, f.path)), None)
        return self._spend(fault) if fault else None

    def _spend(self, fault: Fault) -> Fault:
        fault.times -= 1
        if fault.times == 0:
            self._faults.remove(fault)
        return fault


def parse_fault(wanted: object) -> Fault:
    """Check one fault as decoded JSON: every field its kind needs, and no other."""
    if not isinstance(wanted, dict):
        raise FaultError(f"a fault is an object, not {wanted!r}")
    kind, times = wanted.get("kind"), wanted.get("times", 1)
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise FaultError(f"kind: {kind!r} is none of {', '.join(_FIELDS)}")
    if type(times) is not int or times < 1:
        raise FaultError(f"times: {times!r} is not a whole number above 0")
    needed = _FIELDS[kind]
    for name, types in needed.items():
        if not isinstance(wanted.get(name), types) or isinstance(wanted.get(name), bool):
            raise FaultError(f"{name}: a {kind} fault needs it, got {wanted.get(name)!r}")
    extra = sorted(set(wanted) - set(needed) - {"kind", "times"})
    if extra:
        raise FaultError(f"{', '.join(extra)}: not a field of a {kind} fault")
    if "\n" in wanted.get("message", "") or "\r" in wanted.get("message", ""):
        raise FaultError("message: must be one line, it becomes a reason phrase")
    return Fault(**wanted)
