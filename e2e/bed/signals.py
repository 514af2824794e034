"""Turn the signals that end a process into an ordinary exit, so that `with` and atexit get to clean up."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP raise SystemExit inside. Handlers that somebody else has set are left as they are."""
    if threading.current_thread() is not threading.main_thread():
        # Python lets only the main thread set handlers; there, whoever runs it must see to the signals.
        yield
        return
    ours = [number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _exit)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _exit(number: int, frame: FrameType | None) -> None:
    # Once only: a second signal while cleaning up must not break that off half-way.
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)
