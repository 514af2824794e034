"""What a machine lacks is named in one line before anything is started."""

import os
from pathlib import Path

import pytest

from e2e.bed.errors import NetworkError
from e2e.bed.needs import require


@pytest.fixture(autouse=True)
def namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Root on a machine that lets it make namespaces: a stand-in for `unshare`, which needs no privileges itself."""
    unshare = tmp_path / "unshare"
    unshare.write_text("#!/bin/sh\nexit 0\n")
    unshare.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return unshare


def complaint(*lacking: str) -> str:
    with pytest.raises(NetworkError) as error:
        require(lambda program: None if program in lacking else f"/bin/{program}")
    (line,) = str(error.value).splitlines()
    return line


def test_a_machine_with_everything_is_fine() -> None:
    require(lambda program: f"/bin/{program}")


def test_who_is_not_root_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "run this as root" in complaint()


def test_missing_programs_and_their_packages_are_named_at_once() -> None:
    line = complaint("ip", "setpriv", "nsenter")
    assert line.startswith("not on PATH: ip, nsenter, setpriv; ")
    assert "apt install iproute2 util-linux)" in line


def test_a_machine_that_forbids_namespaces_is_told_apart(namespaces: Path) -> None:
    namespaces.write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\nexit 1\n")
    assert "no network namespaces (unshare: unshare failed: Operation not permitted)" in complaint()
