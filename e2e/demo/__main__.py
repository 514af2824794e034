"""`python -m e2e.demo`: two tenants' clusters come up on named networks, on real parts, in under a minute."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import aiohttp

from e2e.bed import needs
from e2e.bed.errors import BedError
from e2e.bed.progress import Progress
from e2e.bed.providers import apply_all
from e2e.demo import cast
from e2e.demo.ground import DemoError, Ground
from e2e.demo.own_bed import build_minutes, kept_bed, missing_tools, own_bed
from e2e.demo.screen import Screen
from e2e.demo.story import Story
from e2e.demo.visit import visiting
from e2e.demo.watch import Watch
from e2e.pve.client import SimulatorError
from provider.edge.kube.kubeconfig import AccessError

EXPECTED = (BedError, DemoError, AccessError, SimulatorError, aiohttp.ClientError)
LOOK_AROUND = (
    "kubectl get pxzone,pxnet -A -o wide          # the admin's table and what came of it",
    "kubectl get pxblock -o yaml                  # who holds which address, and since when",
    "kubectl get machines -A -o wide              # the tenants' machines",
    "kubectl explain pxzone.spec.networks         # what can be written there",
)


async def tell(ground: Ground, screen: Screen) -> None:
    async with await ground.api() as api:
        await apply_all(api, cast.namespaces())
        async with Watch(api, cast.TENANTS) as watch:
            await Story(ground, screen, api, watch).tell()


def play(screen: Screen, existing: Path | None, keep: bool) -> None:
    """Raises BedError or DemoError; whatever ends it, what was started is stopped, unless it is to be kept."""
    screen.title("pxnet", "named tenant networks for Cluster API on Proxmox")
    screen.say(
        "Real: kube-apiserver, etcd, Cluster API, capmox, pxnet. Simulated: Proxmox VE, whose tasks end at once here."
    )
    needs.require()
    building = missing_tools()
    if building:
        screen.say(f"Once, about {build_minutes(building)} minutes: {', '.join(building)} are built and kept.")
    progress = Progress(sys.stdout)
    if keep:
        with kept_bed(progress, existing) as (ground, summary):
            with visiting(ground, stays=True) if existing else nullcontext():
                asyncio.run(tell(ground, screen))
            screen.chapter("Left running", "Everything you saw. Look around:")
            for line in (*summary.text().splitlines(), *LOOK_AROUND):
                screen.say(line)
        return
    with own_bed(progress, existing) as ground, visiting(ground, stays=False) if existing else nullcontext():
        asyncio.run(tell(ground, screen))
    screen.chapter("Nothing is left running", "Keep it next time: make demo DEMO_FLAGS=--keep. Then look around:")
    for line in LOOK_AROUND:
        screen.say(line)


def cause(error: Exception) -> Exception:
    """The first error of those that came together: what is done side by side fails side by side."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave everything running and say how to look around")
    options = parser.parse_args(arguments)
    screen = Screen()
    found = os.environ.get("KUBECONFIG")
    try:
        play(screen, Path(found) if found else None, options.keep)
    except (*EXPECTED, ExceptionGroup) as error:
        first = cause(error)
        if not isinstance(first, EXPECTED):
            raise
        screen.bad(str(first))
        for note in getattr(error, "__notes__", ()):
            screen.say(note)
        return 1
    except KeyboardInterrupt:
        screen.say("stopped; nothing is left running")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
