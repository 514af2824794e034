"""Which local program stands for which container image. A table and a look-up; nothing is ever pulled."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
RUNTIME = TREE / ".venv" / "runtime"
"""Our own programs' Python: the packages that are shipped and no others."""

NONROOT = 65532  # the user of distroless images, which all of these are
PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Last path element of an image's name -> the bed's name of the program that is in it.
PROGRAMS = {
    "cluster-api-controller": "capi-core",
    "kubeadm-bootstrap-controller": "capi-kubeadm-bootstrap",
    "kubeadm-control-plane-controller": "capi-kubeadm-control-plane",
    "cluster-api-provider-proxmox": "capmox",
    "cluster-api-ipam-in-cluster-controller": "ipam-in-cluster",
}


@dataclass(frozen=True, slots=True)
class Image:
    """What a container starts from.

    binds       files and directories of this machine that are seen (read only) at a path of the container
    entrypoint  used when the container names no command
    directory   working directory
    env         variables that the pod's own may override
    user        numeric user when the pod names none
    """

    binds: Mapping[Path, Path]
    entrypoint: tuple[str, ...]
    directory: Path = Path("/")
    env: Mapping[str, str] = field(default_factory=lambda: {"PATH": PATHS})
    user: int = NONROOT


def short_name(reference: str) -> str:
    """`registry:5000/a/name:tag@sha256:...` -> `name`."""
    return reference.rsplit("/", 1)[-1].split("@", 1)[0].split(":", 1)[0]


def table(binaries: Mapping[str, Path]) -> dict[str, Image]:
    """All images by short name. Programs that were not built are left out, so their pods say ErrImagePull."""
    images = {name: _program(binaries[program]) for name, program in PROGRAMS.items() if program in binaries}
    images["pxnet"] = _tree(RUNTIME / "bin" / "python", RUNTIME, Path(sys.base_prefix))
    return images


def _program(binary: Path) -> Image:
    return Image(binds={binary: Path("/manager")}, entrypoint=("/manager",))


def _tree(python: Path, prefix: Path, base: Path) -> Image:
    """This source tree under its own interpreter; everything stays at the path it has, as a venv needs it.

    Only what a built image would hold is there: the packages, not the tests.
    """
    packages = (TREE / name for name in ("provider", "hooks"))
    binds = {path: path for path in _outermost([prefix, base, *packages]) if path.exists()}
    env = {"PATH": f"{python.parent}:{PATHS}", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return Image(binds=binds, entrypoint=(str(python),), directory=TREE, env=env)


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Drop what the container has anyway (/usr) and what lies inside another of the paths."""
    kept: list[Path] = []
    for path in sorted(set(paths)):
        if not any(path.is_relative_to(above) for above in (*kept, Path("/usr"))):
            kept.append(path)
    return kept
