"""Build the pinned tools once and keep them in a cache outside the tree: <cache>/bin/<tool>-<key>/<tool>.

The cache is ~/.cache/pxnet, or PXNET_CACHE. Where KUBEBUILDER_ASSETS names a directory, its etcd, kube-apiserver and
kubectl are taken as they are, and only what it lacks is built. Nothing is ever removed from the cache here.
"""

import fcntl
import functools
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.bed.errors import BuildError
from e2e.bed.progress import Progress
from e2e.bed.tools import Tool, build_arguments, build_key, find, pinned_version

ASSETS = ("etcd", "kube-apiserver", "kubectl")
OLDEST_GO = 21  # the first that fetches the toolchain a go.mod asks for
ATTEMPTS = 3
RETRY_SECONDS = 5.0
# What a download that may work next time looks like in go's output.
PASSING_TROUBLE = re.compile(
    r"dial tcp|i/o timeout|TLS handshake|unexpected EOF|connection reset|stream error|: (429|500|502|503|504) "
)


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
    key = build_key(arguments, (home / "go.mod").read_bytes(), (home / "go.sum").read_bytes(), _go_version(home))
    return cache_directory() / "bin" / f"{tool.name}-{key}" / tool.name


@functools.cache
def module_dir(name: str) -> Path:
    """Directory of the Go module a tool comes from (read only; CRDs and kustomize bases are in it)."""
    tool = find(name)
    home = tool.home_directory
    listed = _go(["list", "-m", "-f", "{{.Dir}}", tool.module], home).strip()
    if not listed:
        _go(["mod", "download", tool.module], home)
        listed = _go(["list", "-m", "-f", "{{.Dir}}", tool.module], home).strip()
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
        _go(arguments[1:], tool.home_directory, progress)
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


@functools.cache
def _go_version(home: Path) -> str:
    answer = _go(["env", "GOVERSION", "GOOS", "GOARCH"], home)
    number = re.match(r"go1\.(\d+)", answer)
    if number and int(number[1]) < OLDEST_GO:
        raise BuildError(f"the bed's tools need Go 1.{OLDEST_GO} or newer on PATH, found {number[0]}")
    return answer


def _go(arguments: list[str], home: Path, progress: Progress | None = None) -> str:
    go = shutil.which("go")
    if go is None:
        raise BuildError(
            f"the bed's tools are built with Go, and no `go` is on PATH: install Go 1.{OLDEST_GO} or newer"
        )
    # A workspace file or mode flags of the caller must not change what is built.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": ""}
    for attempt in range(1, ATTEMPTS + 1):
        done = subprocess.run([go, *arguments], cwd=home, env=environment, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
        if attempt == ATTEMPTS or not PASSING_TROUBLE.search(done.stderr):
            break
        if progress is not None:
            progress.say(f"download trouble, trying again: {done.stderr.strip().splitlines()[-1]}")
        time.sleep(RETRY_SECONDS * attempt)
    tail = "\n".join(done.stderr.strip().splitlines()[-15:])
    raise BuildError(f"`go {' '.join(arguments)}` in {home} failed:\n{tail}")
