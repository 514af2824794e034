"""Waiting for something that others bring about."""

import time
from collections.abc import Callable

from e2e.bed.errors import BedError

POLL_SECONDS = 0.3


def until(condition: Callable[[], object], what: str, timeout: float = 60.0) -> float:
    """Wait until it holds; gives the seconds it took. Raises BedError saying what did not come."""
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > timeout:
            raise BedError(f"not after {timeout:.0f} s: {what}")
        time.sleep(POLL_SECONDS)
    return time.monotonic() - begun
