"""Numbers of beds: lowest first, one holder each, names unique, dead holders found."""

import subprocess
import sys
from pathlib import Path

import pytest

from e2e.bed import slots
from e2e.bed.errors import BedError

HOLDER = """
import sys
from pathlib import Path
from e2e.bed import slots
slots.RECORDS = Path(sys.argv[2])
slot = slots.take("dead", Path("/base"), Path("/scratch"))
if sys.argv[1] == "half":
    open(slots.RECORDS / "0.json", "w").close()
print(slot.record.index, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def own_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "RECORDS", tmp_path / "run")


def take(name: str | None = None, *, background: bool = False) -> slots.Slot:
    return slots.take(name, Path("/base"), Path("/scratch"), background=background)


def test_the_lowest_free_number_is_taken() -> None:
    first, second, third = take(), take("mine", background=True), take()
    assert [slot.record.index for slot in (first, second, third)] == [0, 1, 2]
    assert second.record.directory == Path("/base/mine")
    assert second.record.scratch == Path("/scratch/pxbed-1")
    assert slots.live() == [first.record, second.record, third.record]
    second.release()
    assert slots.live() == [first.record, third.record]
    again = take()
    assert (again.record.index, again.record.name) == (1, "bed1")
    for slot in (first, again, third):
        slot.release()
    assert slots.live() == []


def test_a_name_is_taken_once() -> None:
    slot = take("mine")
    with pytest.raises(BedError, match=r"'mine' is up \(pid \d+\): stop it with `down --name mine`"):
        take("mine")
    slot.release()
    take("mine").release()


def test_all_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "SLOTS", 2)
    held = [take(), take()]
    with pytest.raises(BedError, match="all 2 beds"):
        take()
    for slot in held:
        slot.release()


@pytest.mark.parametrize("how", ["whole", "half"])
def test_a_dead_holder_is_found_and_its_number_can_be_cleaned(how: str) -> None:
    """Also one that died between making its record and writing it: then the number alone is known."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, how, str(slots.RECORDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    with holder.stdin, holder.stdout:
        index = int(holder.stdout.readline())
        assert [record.index for record in slots.live()] == [index]
        assert slots.take_dead() == []
        holder.kill()
        holder.wait()
    assert slots.live() == []
    dead = slots.take_dead()
    assert [slot.record.index for slot in dead] == [index]
    assert dead[0].record.name == ("dead" if how == "whole" else "bed0")
    dead[0].release()
    assert slots.take_dead() == []
