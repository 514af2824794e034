"""A machine without Go, or with one that is too old, gets one line that says what to do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.bed.errors import BuildError
from e2e.bed.go import go_version, run_go

GO = 'echo {}; [ -z "$3" ] || echo "linux\namd64"'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module that asks for Go 1.26.4, on a machine whose PATH has what `install` puts there."""
    (tmp_path / "go.mod").write_text("module x\n\ngo 1.26.4\n")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    go_version.cache_clear()
    yield tmp_path
    go_version.cache_clear()


def install(home: Path, script: str) -> None:
    go = home / "bin" / "go"
    go.write_text(f"#!/bin/sh\n{script}\n")
    go.chmod(0o755)


def complaint(home: Path) -> str:
    with pytest.raises(BuildError) as error:
        run_go(["build"], home)
    (line,) = str(error.value).splitlines()
    assert line.endswith("install Go 1.26.4 or newer and put its bin directory on PATH")
    return line


def test_no_go(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert "no `go` is on PATH" in complaint(home)


@pytest.mark.parametrize("version", ["go1.26.3", "go1.19.8", "go1.9"])
def test_a_go_that_is_too_old(home: Path, version: str) -> None:
    install(home, GO.format(version))
    assert f"need Go 1.26.4, and {home}/bin/go is {version}: " in complaint(home)


@pytest.mark.parametrize("version", ["go1.26.4", "go1.26.10", "go1.27", "go2.0", "devel go1.27-0123456"])
def test_a_go_that_will_do(home: Path, version: str) -> None:
    install(home, GO.format(version))
    assert go_version(home).splitlines() == [version, "linux", "amd64"]


def test_a_go_that_cannot_fetch_the_version_that_is_asked_for(home: Path) -> None:
    install(home, '[ "$GOTOOLCHAIN" = local ] && exec echo go1.22.1\necho toolchain not available >&2; exit 1')
    assert "go is go1.22.1 (it says: toolchain not available): " in complaint(home)
