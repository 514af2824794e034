"""`make` on a machine that lacks Python or its venv says what to install, and makes nothing."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (None, "python3 is not on PATH: install Python 3.11 or newer, with venv (Debian: python3-venv)"),
        ('case "$2" in *version_info*) echo too old >&2; exit 1;; esac', "too old"),
        ('case "$2" in *ensurepip*) exit 1;; esac', "python3 has no venv: install it (Debian: python3-venv)"),
    ],
)  # fmt: skip
def test_what_python_lacks_is_one_line(tmp_path: Path, script: str | None, says: str) -> None:
    if script is not None:
        python = tmp_path / "bin" / "python3"
        python.parent.mkdir()
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
    make = shutil.which("make")
    assert make is not None
    cache = tmp_path / "cache"
    (version,) = re.findall(r"^UV_VERSION := (\S+)$", (TREE / "Makefile").read_text(), re.MULTILINE)
    target = cache / f"uv-{version}" / "bin" / "uv"
    done = subprocess.run(
        [make, "-C", str(TREE), str(target)],
        env={"PATH": str(tmp_path / "bin"), "PXNET_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    first, *others = done.stderr.splitlines()
    assert first == says
    assert all(line.startswith("make: ***") for line in others)
    assert not cache.exists()
