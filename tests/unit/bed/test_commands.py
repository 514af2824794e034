"""What command lines of `python -m e2e.bed` mean."""

from pathlib import Path

import pytest

from e2e.bed.__main__ import beds_to_stop, chosen_parts, parse
from e2e.bed.bed import Bed
from e2e.bed.errors import BedError
from e2e.bed.parts import FULL, LIGHT, Parts
from e2e.bed.slots import Record


@pytest.fixture(autouse=True)
def no_cluster_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)


def record(name: str, *, background: bool) -> Record:
    return Record(0, name, 1, Path("/a"), Path("/b"), background)


def test_up_is_the_whole_bed_and_light_the_control_plane_alone() -> None:
    assert chosen_parts(parse(["up"])) == FULL
    assert chosen_parts(parse(["up", "--light"])) == LIGHT
    assert chosen_parts(parse(["up", "--with-peer"])).tools == (*FULL.tools, "ipam-in-cluster")


def test_a_peer_without_a_node_is_refused() -> None:
    with pytest.raises(BedError, match="leave --light away"):
        chosen_parts(parse(["up", "--light", "--with-peer"]))


def test_the_callers_cluster_is_used_where_one_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/some/where")
    assert parse(["up"]).kubeconfig == Path("/some/where")
    assert parse(["up", "--kubeconfig", "/else/where"]).kubeconfig == Path("/else/where")
    with pytest.raises(BedError, match="--light is a control plane alone, and /some/where is one"):
        chosen_parts(parse(["up", "--light"]))


def test_parts_name_what_they_lack() -> None:
    with pytest.raises(BedError, match="needs controllers, kubelet and pve"):
        Parts(kubelet=True, providers=True)
    with pytest.raises(BedError, match="needs providers"):
        Parts(peer=True)


def test_down_without_a_name_never_takes_a_bed_in_use() -> None:
    beds = [record("left", background=True), record("tests", background=False)]
    assert [bed.name for bed in beds_to_stop(beds, None)] == ["left"]
    assert [bed.name for bed in beds_to_stop(beds, "tests")] == ["tests"]
    assert beds_to_stop(beds, "none") == []


@pytest.mark.parametrize("name", ["", "A", "a/b", "..", "-a", "a-", "a" * 41])
def test_names_that_are_no_directory_of_ours_are_refused(name: str) -> None:
    with pytest.raises(BedError, match="use at most 40 of a-z, 0-9 and -"):
        Bed(name)
