"""`python -m e2e.bench [claims]`: measure on a bed of its own, print a table, write build/bench.json."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

from rich.console import Console

from e2e.bed import binaries
from e2e.bed.bed import TREE, Bed
from e2e.bed.errors import BedError
from e2e.bed.progress import Progress
from e2e.bench import claims
from e2e.bench.figures import table, write

OUTPUT = TREE / "build" / "bench.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure. Returns 0 also where an aim is missed: the table and the file say so."""
    parser = argparse.ArgumentParser(prog="python -m e2e.bench", description="Measure pxnet on a bed of real parts.")
    parser.add_argument("what", nargs="?", default="claims", choices=("claims",), help="which figures (all without)")
    parser.parse_args(arguments)
    progress = Progress()
    try:
        binaries.ensure(["ipam-in-cluster"], progress)
        with Bed(f"bench-{os.getpid()}", claims.PARTS, progress=progress) as bed:
            figures = asyncio.run(claims.measure(bed, progress))
    except BedError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    write(figures, OUTPUT)
    Console().print(table(figures))
    print(f"written to {OUTPUT.relative_to(TREE)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
