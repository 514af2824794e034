"""A container's private root directory: a script of mounts that ends in the program itself.

The root is an empty tmpfs with the machine's /usr and /etc in it (read only), /dev and /proc, a /tmp of its own,
the image's files, the volumes, and a hosts file. Being a root of its own it needs no directory of this machine to be
readable for the container's user, and `/manager` is where the manifests say it is.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SYSTEM = tuple(map(Path, ("/usr", "/etc")))
LINKS = tuple(map(Path, ("/bin", "/sbin", "/lib", "/lib64")))
DEVICES = tuple(map(Path, ("/dev", "/proc")))


@dataclass(frozen=True, slots=True)
class Root:
    """`directory` is an existing empty directory that only names the mount; the rest is seen by the container alone."""

    directory: Path
    binds: Mapping[Path, Path]
    volumes: Sequence[tuple[Path, Path, bool]]  # source, target, read only
    hosts: Path
    working_directory: Path
    user: int
    group: int
    readonly: bool = False  # all but the volumes


def arguments(root: Root, command: Sequence[str]) -> list[str]:
    """Argument list that enters the root as the container's user and execs the command (the pid stays the same)."""
    script = "; ".join([*_steps(root), _enter(root)])
    return ["unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-ec", script, "sh", *command]


def _steps(root: Root) -> list[str]:
    top = root.directory
    steps = [f"mount -n -t tmpfs -o mode=755 tmpfs {_quoted(top)}"]
    for path in LINKS:
        if path.is_symlink():
            steps.append(f"ln -s {shlex.quote(str(path.readlink()))} {_quoted(_inside(top, path))}")
        elif path.exists():
            steps += _bind(path, _inside(top, path), readonly=True)
    for path in SYSTEM:
        steps += _bind(path, _inside(top, path), readonly=True)
    steps += [f"mount -n --bind {_quoted(root.hosts)} {_quoted(top / 'etc/hosts')}"]
    for path in DEVICES:
        steps += [f"mkdir -p {_quoted(_inside(top, path))}", f"mount -n --rbind {path} {_quoted(_inside(top, path))}"]
    temporary = _quoted(top / "tmp")
    # Programs look for the token under /var/run, which is a link to /run wherever they were written.
    steps += [f"mkdir -p {temporary} {_quoted(top / 'run')} {_quoted(top / 'var')}", f"chmod 1777 {temporary}"]
    steps += [f"ln -s ../run {_quoted(top / 'var/run')}"]
    for source, target in root.binds.items():
        steps += _bind(source, _inside(top, target), readonly=True)
    for source, target, readonly in root.volumes:
        steps += _bind(source, _inside(top, target), readonly)
    return [*steps, f"mount -n -o remount,ro {_quoted(top)}"] if root.readonly else steps


def _bind(source: Path, target: Path, readonly: bool) -> list[str]:
    place = [f"mkdir -p {_quoted(target)}"]
    if source.is_file():
        place = [f"mkdir -p {_quoted(target.parent)}", f": >> {_quoted(target)}"]
    steps = [*place, f"mount -n --bind {_quoted(source)} {_quoted(target)}"]
    return [*steps, f"mount -n -o remount,bind,ro {_quoted(target)}"] if readonly else steps


def _enter(root: Root) -> str:
    # setpriv comes last: a change of user clears the parent-death signal, and setpriv sets it after that change.
    drop = f"setpriv --pdeathsig KILL --reuid {root.user} --regid {root.group} --clear-groups"
    if root.user != 0:
        drop += " --bounding-set -all --no-new-privs"
    chdir = f"env --chdir={_quoted(root.working_directory)}"
    return f'exec chroot {_quoted(root.directory)} {chdir} {drop} -- "$@"'


def _inside(top: Path, path: Path) -> Path:
    return top / path.relative_to("/")


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
