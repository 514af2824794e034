"""The `go` command: whether it is there and new enough, and running it in spite of downloads that fail for a moment."""

import functools
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from e2e.bed.errors import BuildError
from e2e.bed.progress import Progress

ATTEMPTS = 3
RETRY_SECONDS = 5.0
# What a download that may work next time looks like in go's output.
PASSING_TROUBLE = re.compile(
    r"dial tcp|i/o timeout|TLS handshake|unexpected EOF|connection reset|stream error|: (429|500|502|503|504) "
)


@functools.cache
def go_version(home: Path) -> str:
    """Version, system and processor that `go` builds the tools of `home` with, a directory with a go.mod.

    From 1.21 on Go fetches the version that the go.mod asks for by itself, where it may and can.

    Raises:
        BuildError: no `go`, or one that is too old; the text is one line.
    """
    needed = re.search(r"^go (\S+)$", (home / "go.mod").read_text(), re.MULTILINE)
    wanted = needed[1] if needed else "1.21"
    advice = f"install Go {wanted} or newer and put its bin directory on PATH"
    go = shutil.which("go")
    if go is None:
        raise BuildError(f"the bed's tools are built with Go, and no `go` is on PATH: {advice}")
    done = _try([go, "env", "GOVERSION", "GOOS", "GOARCH"], home)
    if done.returncode != 0 or _numbers(done.stdout) < _numbers(wanted):
        # Asked where no go.mod is in the way.
        found = _run([go, "env", "GOVERSION"], Path("/"), GOTOOLCHAIN="local").stdout.strip() or "one that is older"
        words = done.stderr.strip().splitlines()[-1:]
        reason = f" (it says: {words[0]})" if words else ""
        raise BuildError(f"the bed's tools need Go {wanted}, and {go} is {found}{reason}: {advice}")
    return done.stdout


def run_go(arguments: list[str], home: Path, progress: Progress | None = None) -> str:
    """What go says on standard output. Raises BuildError with the end of its words."""
    go_version(home)
    done = _try(["go", *arguments], home, progress)
    if done.returncode == 0:
        return done.stdout
    tail = "\n".join(done.stderr.strip().splitlines()[-15:])
    raise BuildError(f"`go {' '.join(arguments)}` in {home} failed:\n{tail}")


def _try(arguments: list[str], home: Path, progress: Progress | None = None) -> subprocess.CompletedProcess[str]:
    for attempt in range(1, ATTEMPTS):
        done = _run(arguments, home)
        if done.returncode == 0 or not PASSING_TROUBLE.search(done.stderr):
            return done
        if progress is not None:
            progress.say(f"download trouble, trying again: {done.stderr.strip().splitlines()[-1]}")
        time.sleep(RETRY_SECONDS * attempt)
    return _run(arguments, home)


def _run(arguments: list[str], home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # A workspace file or mode flags of the caller must not change what is built.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "", **environment}
    return subprocess.run(arguments, cwd=home, env=environment, capture_output=True, text=True, check=False)


def _numbers(version: str) -> tuple[int, ...]:
    """(1, 26, 4) of "go1.26.4 linux" or "1.26.4"; (0,) of what is no version."""
    found = re.search(r"(?:^|go)(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in found[1].split(".")) if found else (0,)
