"""Where a tool is taken from: the cache, the assets of the caller, or a build."""

import io
from pathlib import Path

import pytest

from e2e.bed import binaries
from e2e.bed.errors import BuildError
from e2e.bed.go import go_version
from e2e.bed.progress import Progress

FAKE_GO = """#!/bin/sh
case "$1" in
  env) echo go1.99.1; echo linux; echo amd64;;
  build) echo "$CGO_ENABLED" "$@" >> {log}; while [ "$1" != -o ]; do shift; done; echo program > "$2";;
esac
"""


@pytest.fixture
def go_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A `go` that writes a file instead of building; its log has a line for each build."""
    log = tmp_path / "go.log"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "go").write_text(FAKE_GO.format(log=log))
    (tmp_path / "bin" / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("PXNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    go_version.cache_clear()
    yield log
    go_version.cache_clear()


def test_a_tool_is_built_once_and_found_in_the_cache_after_that(go_log: Path, tmp_path: Path) -> None:
    said = io.StringIO()
    first = binaries.ensure(["etcd", "clusterctl"], Progress(said))
    again = binaries.ensure(["etcd", "clusterctl"], Progress(said))
    assert first == again
    assert first["etcd"].parent.parent == tmp_path / "cache" / "bin"
    assert first["etcd"].read_text() == "program\n"
    assert [path.name for path in first["etcd"].parent.iterdir()] == ["etcd"]
    builds = go_log.read_text().splitlines()
    assert len(builds) == 2
    assert builds[0].startswith("0 build -trimpath")
    assert "[1/2] building etcd ..., usually 90 s" in said.getvalue()
    assert "[2/2] building clusterctl: " in said.getvalue()


def test_assets_are_taken_and_what_they_lack_is_built(
    go_log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    (assets / "etcd").touch(mode=0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    said = io.StringIO()
    found = binaries.ensure(["etcd", "kubectl", "clusterctl"], Progress(said))
    assert found["etcd"] == assets / "etcd"
    assert found["kubectl"].is_relative_to(tmp_path / "cache")
    assert f"KUBEBUILDER_ASSETS={assets} has no program kubectl: using one built here" in said.getvalue()
    assert len(go_log.read_text().splitlines()) == 2


def test_a_failed_build_shows_gos_words_and_leaves_nothing(go_log: Path, tmp_path: Path) -> None:
    go = tmp_path / "bin" / "go"
    go.write_text('#!/bin/sh\n[ "$1" = env ] && exec echo go1.99.1\necho cannot find module >&2\nexit 1\n')
    with pytest.raises(BuildError, match=r"(?s)go build .*cannot find module"):
        binaries.ensure(["etcd"], Progress(io.StringIO()))
    assert [path for path in (tmp_path / "cache").rglob("*etcd") if path.is_file()] == []
