"""In somebody's cluster the demo removes what it made, and nothing else."""

import asyncio
from pathlib import Path

import orjson
import pytest

from e2e.demo import cast
from e2e.demo.__main__ import cause
from e2e.demo.ground import DemoError, Ground
from e2e.demo.visit import enter, strangers, visiting

FAKE_KUBECTL = """#!/bin/sh
echo "$@" >> {calls}
test "$1" != get || cat {answer}
"""


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """A stand-in for kubectl that answers `get` with the file `answer` and notes its calls."""
    program = tmp_path / "kubectl"
    program.write_text(FAKE_KUBECTL.format(calls=tmp_path / "calls", answer=tmp_path / "answer"))
    program.chmod(0o755)
    (tmp_path / "answer").write_text("")
    return Ground("none", program, None, None, "pve1", 9000, "vmbr7")


def deletes(tmp_path: Path) -> list[str]:
    return [line for line in (tmp_path / "calls").read_text().splitlines() if line.startswith("delete")]


def test_what_the_demo_makes_is_marked():
    assert strangers([*cast.namespaces(), cast.zone("vmbr7")]) == []


def test_somebodys_namespace_stops_the_demo_before_it_removes_anything(ground: Ground, tmp_path: Path):
    theirs = {"kind": "Namespace", "metadata": {"name": "team-a"}}
    (tmp_path / "answer").write_bytes(orjson.dumps(theirs))
    with pytest.raises(DemoError, match="Namespace team-a exist"), visiting(ground, stays=False):
        pytest.fail("the story must not begin")
    assert deletes(tmp_path) == []


def test_what_an_earlier_demo_left_goes_first(ground: Ground, tmp_path: Path):
    (tmp_path / "answer").write_bytes(orjson.dumps({"items": cast.namespaces()}))
    asyncio.run(enter(ground))
    assert [line.split()[1] for line in deletes(tmp_path)] == ["clusters.cluster.x-k8s.io"] * 2 + ["namespace/team-a"]


def test_a_failure_removes_even_what_was_to_stay(ground: Ground, tmp_path: Path):
    with visiting(ground, stays=True):
        pass
    assert deletes(tmp_path) == []
    with pytest.raises(KeyboardInterrupt), visiting(ground, stays=True):
        raise KeyboardInterrupt
    assert len(deletes(tmp_path)) == 3


def test_the_first_of_several_errors_is_told():
    first = DemoError("first")
    assert cause(ExceptionGroup("", [ExceptionGroup("", [first]), DemoError("second")])) is first
