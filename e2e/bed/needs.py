"""What the machine must have before a bed is started, or a quarter of an hour is spent on building its tools."""

import os
import shutil
import subprocess
from collections.abc import Callable

from e2e.bed.errors import NetworkError

PROGRAMS = {"ip": "iproute2", "sysctl": "procps", "nsenter": "util-linux", "unshare": "util-linux",
            "setpriv": "util-linux", "mount": "mount"}  # fmt: skip
"""Programs that beds call, and the Debian packages that have them."""


def require(find: Callable[[str], str | None] = shutil.which) -> None:
    """Look for all of it. Raises NetworkError, one line that names what is missing and says what to do."""
    if os.geteuid() != 0:
        raise NetworkError("beds live in network namespaces of their own, which takes root: run this as root")
    missing = {program: package for program, package in PROGRAMS.items() if find(program) is None}
    if missing:
        programs = ", ".join(missing)
        packages = " ".join(sorted({*missing.values()}))
        raise NetworkError(
            f"not on PATH: {programs}; install what is missing (Debian: apt install {packages}), "
            "or add /usr/sbin and /sbin to PATH"
        )
    done = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NetworkError(
            f"this machine lets root make no network namespaces ({done.stderr.strip()}): use a machine or VM of your "
            "own, or a container that is privileged"
        )
