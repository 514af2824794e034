"""Says what is being done, for how long, and how long it usually takes. Silent about what takes no time."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console

REPEAT_SECONDS = 30.0


class Progress:
    """On a terminal a line that counts seconds; elsewhere plain lines, one at least every 30 s."""

    def __init__(self, stream: TextIO | None = None, quiet: bool = False) -> None:
        self._console = Console(file=stream or sys.stderr, quiet=quiet, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """One line of plain text."""
        self._console.print(text, markup=False)

    @contextmanager
    def step(self, title: str, typical: float = 0) -> Iterator[None]:
        """Around a piece of work. `typical`: the seconds it takes on a modest machine, 0 for "no idea"."""
        begun = time.monotonic()
        usual = f", usually {typical:.0f} s" if typical else ""
        ended = threading.Event()

        def elapsed() -> float:
            return time.monotonic() - begun

        def count_on_terminal() -> None:
            with self._console.status(f"{title} ...{usual}") as line:
                while not ended.wait(0.5):
                    line.update(f"{title} ... {elapsed():.0f} s{usual}")

        def count_in_lines() -> None:
            while not ended.wait(REPEAT_SECONDS):
                self.say(f"{title} ... {elapsed():.0f} s{usual}")

        if not self._console.is_terminal:
            self.say(f"{title} ...{usual}")
        counter = threading.Thread(target=count_on_terminal if self._console.is_terminal else count_in_lines)
        counter.start()
        try:
            yield
        except BaseException:
            ended.set()
            counter.join()
            self.say(f"{title}: failed after {elapsed():.1f} s")
            raise
        ended.set()
        counter.join()
        self.say(f"{title}: {elapsed():.1f} s")
