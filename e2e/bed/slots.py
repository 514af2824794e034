"""Which bed has which number (0..63), kept in lock files so that several beds stand side by side.

The number names a bed's namespaces and subnet. A record whose lock nobody holds belongs to a bed that died: the kernel
drops the lock with the process, however it ended, so no pid is ever guessed at.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from e2e.bed.errors import BedError

SLOTS = 64
# One place for the whole machine, as the namespaces are: two would each think the other's beds dead.
RECORDS = Path("/run/pxnet/beds")


@dataclass(frozen=True, slots=True)
class Record:
    """What others may know of a bed. `scratch` is what must go with it (etcd's data), `directory` what stays (logs).

    `background`: left running on purpose, by `up`. Any other bed is in the middle of some program's work.
    """

    index: int
    name: str
    pid: int
    directory: Path
    scratch: Path
    background: bool


@dataclass(frozen=True, slots=True)
class Slot:
    """A number that is ours until `release` or our end."""

    record: Record
    _held: IO[str]

    def release(self) -> None:
        """Give the number back; only after everything named by it is gone."""
        with _registry():
            _path(self.record.index).unlink(missing_ok=True)
            self._held.close()


def take(name: str | None, directory: Path, scratch: Path, *, background: bool = False) -> Slot:
    """Take the lowest free number; `directory` and `scratch` are parents, the bed's own are made from its name.

    Without a name it is "bed<number>". Raises BedError when a live bed has the name, or all numbers are taken.
    """
    with _registry():
        for other, held in _records():
            if held and other.name == name:
                raise BedError(f"a bed named {name!r} is up (pid {other.pid}): stop it with `down --name {name}`")
        for index in range(SLOTS):
            # Append, not truncate: the file may be a live bed's.
            file = _path(index).open("a+")
            if not _lock(file):
                file.close()
                continue
            own = name or f"bed{index}"
            record = Record(index, own, os.getpid(), directory / own, scratch / f"pxbed-{index}", background)
            file.truncate(0)
            file.write(json.dumps(asdict(record), default=str))
            file.flush()
            return Slot(record, file)
    raise BedError(f"all {SLOTS} beds of this machine are taken")


def live() -> list[Record]:
    """The beds that are up."""
    with _registry():
        return [record for record, held in _records() if held]


def take_dead() -> list[Slot]:
    """Slots of beds that died without cleaning up, now held by us: clean each, then release it."""
    dead = []
    with _registry():
        for record, held in _records():
            if not held:
                file = _path(record.index).open("a+")
                if _lock(file):
                    dead.append(Slot(record, file))
                else:
                    file.close()
    return dead


def _path(index: int) -> Path:
    return RECORDS / f"{index}.json"


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _registry() -> Iterator[None]:
    """All changes of the set of records happen one at a time."""
    try:
        RECORDS.mkdir(parents=True, exist_ok=True)
        with (RECORDS / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except PermissionError as error:
        raise BedError(f"cannot write {RECORDS} ({error.strerror}): run the bed as root") from None


def _records() -> Iterator[tuple[Record, bool]]:
    """Every record with whether its bed lives."""
    for index in range(SLOTS):
        path = _path(index)
        if not path.exists():
            continue
        with path.open("a+") as file:
            held = not _lock(file)
            file.seek(0)
            text = file.read()
        if not text:
            # It died between making the file and writing it; only the number is known.
            unknown = Record(index, f"bed{index}", 0, Path(), Path(), background=False)
            text = json.dumps(asdict(unknown), default=str)
        fields = json.loads(text)
        paths = {key: Path(fields[key]) for key in ("directory", "scratch")}
        yield Record(**{**fields, **paths}), held
