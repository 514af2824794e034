"""`python -m e2e.bench [claims|admission]`: measure on beds of its own, print a table, write build/bench.json."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

from rich.console import Console

from e2e.bed import binaries, needs
from e2e.bed.bed import TREE, Bed
from e2e.bed.errors import BedError
from e2e.bed.progress import Progress
from e2e.bench import admission, claims
from e2e.bench.figures import Figure, table, write

WIDTH = 140
OUTPUT = TREE / "build" / "bench.json"
MEASURED = {"claims": claims, "admission": admission}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure. Returns 0 also where an aim is missed: the table and the file say so."""
    parser = argparse.ArgumentParser(prog="python -m e2e.bench", description="Measure pxnet on a bed of real parts.")
    parser.add_argument("what", nargs="?", choices=sorted(MEASURED), help="which figures (all without)")
    what = parser.parse_args(arguments).what
    progress = Progress()
    figures: list[Figure] = []
    try:
        needs.require()
        binaries.ensure(["ipam-in-cluster", "capmox"], progress)
        for name in [what] if what else MEASURED:
            with Bed(f"bench-{name}-{os.getpid()}", MEASURED[name].PARTS, progress=progress) as bed:
                figures += asyncio.run(MEASURED[name].measure(bed, progress))
    except BedError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    write(figures, OUTPUT)
    screen = Console()
    # In a log nothing tells the width, and a table that is cut says nothing.
    (screen if screen.is_terminal else Console(width=WIDTH)).print(table(figures))
    print(f"written to {OUTPUT.relative_to(TREE)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
