"""Providers under test: `python -m provider` as a process of its own, as a user would start it."""

import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from e2e.bed.bed import TREE, Bed
from e2e.bed.binaries import module_dir
from e2e.bed.processes import Command, Process, start
from tests.api.witness import Json, Witness, until

CLUSTER_API_FILES = (
    "ipam.cluster.x-k8s.io_ipaddressclaims.yaml",
    "ipam.cluster.x-k8s.io_ipaddresses.yaml",
    "cluster.x-k8s.io_clusters.yaml",
)
START_SECONDS = 40.0

_numbers = itertools.count(1)


def cluster_api_kinds() -> list[Json]:
    """The definitions of claims, addresses and clusters that Cluster API's module brings."""
    bases = module_dir("capi-core") / "core" / "config" / "crd" / "bases"
    return [_read(bases / file) for file in CLUSTER_API_FILES]


def own_kinds() -> list[Json]:
    files = sorted((TREE / "crds").rglob("*.yaml"))
    return [_read(file) for file in files if file.name != "kustomization.yaml"]


def install(witness: Witness, kinds: list[Json]) -> None:
    """Create the definitions and wait until the server serves them."""
    for kind in kinds:
        witness.create(kind)
    for kind in kinds:
        name = kind["metadata"]["name"]
        until(lambda kind=kind: _served(witness, kind), f"{name} is served", START_SECONDS)  # type: ignore[misc]


@contextmanager
def provider(bed: Bed, *flags: str, ready: str | None = "ready") -> Iterator[Process]:
    """A provider at work, once its log says `ready`; stopped at the end."""
    process = start_provider(bed, *flags, ready=ready)
    try:
        yield process
    finally:
        process.stop()


def start_provider(bed: Bed, *flags: str, ready: str | None = "ready") -> Process:
    """Start one on ports that the kernel chooses; without `ready` do not wait for it."""
    name = f"provider-{next(_numbers)}"
    argv = [
        sys.executable, "-m", "provider", "--kubeconfig", str(bed.kubeconfig), "--health-address", "127.0.0.1:0",
        "--metrics-address", "127.0.0.1:0", "--log-format", "json", *flags,
    ]  # fmt: skip
    process = start(Command(name, argv, bed.logs / f"{name}.log", cwd=TREE))
    if ready is not None:
        mark = f'"event": "{ready}"'
        process.wait_ready(lambda: mark in log_of(process), START_SECONDS)
    return process


def log_of(process: Process) -> str:
    return Path(process.command.log).read_text()


def _read(file: Path) -> Json:
    kind: Json = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)
    return kind


def _served(witness: Witness, kind: Json) -> bool:
    """Established is not enough: for a moment after that the server still answers that it is starting the storage."""
    spec = kind["spec"]
    version = next(item["name"] for item in spec["versions"] if item["storage"])
    return witness.answers(f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1")
