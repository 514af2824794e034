"""The table of tools against the pins it reads, and what a build's key depends on."""

from pathlib import Path

import pytest

from e2e.bed.errors import BuildError
from e2e.bed.tools import TOOLS, build_arguments, build_key, find, link_flags, pinned_version

GO_MOD = """\
module somewhere

require (
	example.org/one v1.2.3 // indirect
	example.org/one/sub v0.1.0
	example.org/two v2.0.0+incompatible
)

require example.org/three v0.3.0

replace example.org/two => example.org/two v2.1.0

replace (
	example.org/three => example.org/fork v9.9.9
)
"""


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_every_tool_is_pinned_and_listed_as_a_tool(name: str) -> None:
    tool = TOOLS[name]
    go_mod = (tool.home_directory / "go.mod").read_text()
    assert pinned_version(tool.module, go_mod).startswith("v")
    assert any(line.split()[-1] == tool.import_path for line in go_mod.splitlines() if line.strip())
    assert (tool.home_directory / "go.sum").stat().st_size > 0


@pytest.mark.parametrize(
    ("module", "version"),
    [
        ("example.org/one", "v1.2.3"),
        ("example.org/one/sub", "v0.1.0"),
        ("example.org/two", "v2.1.0"),
        ("example.org/three", "v9.9.9"),
    ],
)
def test_pinned_version_follows_replacements(module: str, version: str) -> None:
    assert pinned_version(module, GO_MOD) == version


def test_a_module_that_is_not_pinned_is_named() -> None:
    with pytest.raises(BuildError, match=r"example\.org/none is not pinned"):
        pinned_version("example.org/none", GO_MOD)


def test_the_server_is_linked_with_its_version() -> None:
    flags = link_flags(TOOLS["kube-apiserver"], "v1.36.3")
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3" in flags
    assert "-X k8s.io/component-base/version.gitMajor=1 " in flags
    assert "-X k8s.io/component-base/version.gitMinor=36" in flags


def test_a_tool_without_version_package_gets_none() -> None:
    assert link_flags(TOOLS["etcd"], "v3.6.13") == "-s -w"


def test_the_main_package_may_be_the_modules_root() -> None:
    assert build_arguments(TOOLS["etcd"], "v3", Path("x"))[-1] == "go.etcd.io/etcd/server/v3"
    assert build_arguments(TOOLS["kubectl"], "v1.2.3", Path("x"))[-1] == "k8s.io/kubernetes/cmd/kubectl"


def test_an_unknown_tool_gets_the_list_of_known_ones() -> None:
    with pytest.raises(BuildError, match=r"no tool 'kubelet'; known: etcd, kube-apiserver"):
        find("kubelet")


def test_the_key_changes_with_each_thing_the_program_depends_on() -> None:
    arguments = (["go", "build", "x"], b"mod", b"sum", "go1.26.8")
    others = [
        (["go", "build", "y"], b"mod", b"sum", "go1.26.8"),
        (["go", "build", "x"], b"mod2", b"sum", "go1.26.8"),
        (["go", "build", "x"], b"mod", b"sum2", "go1.26.8"),
        (["go", "build", "x"], b"mod", b"sum", "go1.26.9"),
        (["go", "build", "x"], b"mods", b"um", "go1.26.8"),
    ]
    assert build_key(*arguments) == build_key(*arguments)
    assert len({build_key(*each) for each in (arguments, *others)}) == 6
