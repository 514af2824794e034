"""Build the pinned tools once and keep them in a cache outside the tree: <cache>/bin/<tool>-<key>/<tool>.

The cache is ~/.cache/pxnet, or PXNET_CACHE. Where KUBEBUILDER_ASSETS names a directory, its etcd, kube-apiserver and
kubectl are taken as they are, and only what it lacks is built. Nothing is ever removed from the cache here.
"""

import fcntl
import functools
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.bed.go import go_version, run_go
from e2e.bed.progress import Progress
from e2e.bed.tools import Tool, build_arguments, build_key, find, pinned_version

ASSETS = ("etcd", "kube-apiserver", "kubectl")


def cache_directory() -> Path:
    """Where the project keeps what is slow to make."""
    return Path(os.environ.get("PXNET_CACHE") or Path.home() / ".cache" / "pxnet")


def ensure(names: Iterable[str], progress: Progress | None = None, *, announce: bool = True) -> dict[str, Path]:
    """Paths of the named tools, building what is not there. Raises BuildError with the end of go's output.

    With `announce` it also says which programs KUBEBUILDER_ASSETS lacks.
    """
    progress = progress or Progress()
    found: dict[str, Path] = {}
    missing: list[Tool] = []
    for tool in map(find, names):
        path = _asset(tool, progress if announce else None) or built_path(tool)
        found[tool.name] = path
        if not path.exists():
            missing.append(tool)
    if missing:
        with _one_builder(progress):
            for number, tool in enumerate(missing, 1):
                # Another bed may have built it while we waited for the lock.
                if not found[tool.name].exists():
                    title = f"[{number}/{len(missing)}] building {tool.name}"
                    with progress.step(title, tool.typical):
                        _build(tool, found[tool.name], progress)
    return found


def binary(name: str) -> Path:
    """Path of one tool, built if need be."""
    return ensure([name])[name]


def built_path(tool: Tool) -> Path:
    """Where the tool is, or will be once built. Raises BuildError without Go."""
    arguments = build_arguments(tool, _version(tool), Path("out"))
    home = tool.home_directory
    key = build_key(arguments, (home / "go.mod").read_bytes(), (home / "go.sum").read_bytes(), go_version(home))
    return cache_directory() / "bin" / f"{tool.name}-{key}" / tool.name


@functools.cache
def module_dir(name: str) -> Path:
    """Directory of the Go module a tool comes from (read only; CRDs and kustomize bases are in it)."""
    tool = find(name)
    home = tool.home_directory
    listed = run_go(["list", "-m", "-f", "{{.Dir}}", tool.module], home).strip()
    if not listed:
        run_go(["mod", "download", tool.module], home)
        listed = run_go(["list", "-m", "-f", "{{.Dir}}", tool.module], home).strip()
    return Path(listed)


def _version(tool: Tool) -> str:
    return pinned_version(tool.module, (tool.home_directory / "go.mod").read_text())


def _asset(tool: Tool, progress: Progress | None) -> Path | None:
    directory = os.environ.get("KUBEBUILDER_ASSETS")
    if not directory or tool.name not in ASSETS:
        return None
    path = Path(directory).absolute() / tool.name
    if path.is_file() and os.access(path, os.X_OK):
        return path
    if progress is not None:
        progress.say(f"KUBEBUILDER_ASSETS={directory} has no program {tool.name}: using one built here")
    return None


def _build(tool: Tool, target: Path, progress: Progress) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Built beside its place and renamed, so a program in the cache is always a whole one.
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        arguments = build_arguments(tool, _version(tool), partial)
        run_go(arguments[1:], tool.home_directory, progress)
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _one_builder(progress: Progress) -> Iterator[None]:
    lock = cache_directory() / "bin" / ".lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("another bed is building the tools; waiting for it")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
