"""The programs the bed is made of: where each is pinned, what is built, and with which flags. Data only, no building.

Versions stand in the go.mod files under e2e/tools and nowhere else; this table reads them from there.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.bed.errors import BuildError

TOOLS_DIRECTORY = Path(__file__).resolve().parent.parent / "tools"

COMPONENT_BASE = "k8s.io/component-base/version"
CLUSTER_API_VERSION = "sigs.k8s.io/cluster-api/version"


@dataclass(frozen=True, slots=True)
class Tool:
    """One program.

    home             directory under e2e/tools whose go.mod pins it
    module           Go module it comes from; CRDs and kustomize bases are read from that module's directory
    package          main package inside the module, "" for its root
    version_package  package whose gitVersion, gitMajor and gitMinor are linked in, "" for none
    typical          seconds of a cold build on two cores, for the progress line
    """

    name: str
    home: str
    module: str
    package: str
    version_package: str
    typical: int

    @property
    def home_directory(self) -> Path:
        return TOOLS_DIRECTORY / self.home

    @property
    def import_path(self) -> str:
        return f"{self.module}/{self.package}" if self.package else self.module


KUBERNETES = ("kubernetes", "k8s.io/kubernetes")
CLUSTER_API = ("cluster-api", "sigs.k8s.io/cluster-api")

# In the order that lets each build reuse what the one before compiled.
TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool("etcd", "etcd", "go.etcd.io/etcd/server/v3", "", "", 90),
        # Cluster API refuses a server that does not know its version, and unlinked it says v0.0.0-master.
        Tool("kube-apiserver", *KUBERNETES, "cmd/kube-apiserver", COMPONENT_BASE, 450),
        Tool("kube-controller-manager", *KUBERNETES, "cmd/kube-controller-manager", COMPONENT_BASE, 75),
        Tool("kubectl", *KUBERNETES, "cmd/kubectl", COMPONENT_BASE, 75),
        Tool("capi-core", *CLUSTER_API, "core", CLUSTER_API_VERSION, 160),
        Tool("capi-kubeadm-bootstrap", *CLUSTER_API, "bootstrap/kubeadm", CLUSTER_API_VERSION, 10),
        Tool("capi-kubeadm-control-plane", *CLUSTER_API, "controlplane/kubeadm", CLUSTER_API_VERSION, 15),
        Tool("clusterctl", *CLUSTER_API, "cmd/clusterctl", CLUSTER_API_VERSION, 20),
        Tool("capmox", "capmox", "github.com/ionos-cloud/cluster-api-provider-proxmox", "cmd", "", 140),
        Tool("ipam-in-cluster", "ipam-in-cluster", "sigs.k8s.io/cluster-api-ipam-provider-in-cluster", "", "", 100),
    )
}

CONTROL_PLANE_TOOLS = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")


def find(name: str) -> Tool:
    """The tool of that name. Raises BuildError naming the known ones."""
    if name not in TOOLS:
        raise BuildError(f"no tool {name!r}; known: {', '.join(TOOLS)}")
    return TOOLS[name]


def pinned_version(module: str, go_mod: str) -> str:
    """The version of `module` in the text of a go.mod: the replacement where there is one. Raises BuildError."""
    name = re.escape(module)
    replaced = re.search(rf"^(?:replace)?\s*{name} => \S+ (v\S+)", go_mod, re.MULTILINE)
    required = re.search(rf"^(?:require)?\s*{name} (v\S+)", go_mod, re.MULTILINE)
    found = replaced or required
    if found is None:
        raise BuildError(f"module {module} is not pinned in its go.mod")
    return found[1]


def link_flags(tool: Tool, version: str) -> str:
    """The -ldflags value: small binaries, and the version where a program asks for it."""
    flags = ["-s", "-w"]
    if tool.version_package:
        major, minor = version.removeprefix("v").split(".")[:2]
        values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
        flags += [f"-X {tool.version_package}.{key}={value}" for key, value in values.items()]
    return " ".join(flags)


def build_arguments(tool: Tool, version: str, output: Path) -> list[str]:
    """The `go build` command line, to be run in the tool's home directory with CGO_ENABLED=0."""
    flags = ["-trimpath", "-buildvcs=false", "-ldflags", link_flags(tool, version)]
    return ["go", "build", *flags, "-o", str(output), tool.import_path]


def build_key(arguments: Sequence[str], go_mod: bytes, go_sum: bytes, go_version: str) -> str:
    """12 hex digits that change with anything the built program depends on."""
    digest = hashlib.sha256()
    for part in (*(argument.encode() for argument in arguments), go_mod, go_sum, go_version.encode()):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:12]
