"""`python -m e2e.bed.kubelet --bed N --kubeconfig FILE --directory DIR [--program NAME=PATH ...]`: one bed's node."""

import argparse
import asyncio
import signal
from contextlib import suppress
from pathlib import Path

from e2e.bed.api import Api
from e2e.bed.kubelet import images
from e2e.bed.kubelet.sync import Kubelet
from e2e.bed.network import BedNetwork


def _program(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    return name, Path(path)


async def _run(options: argparse.Namespace) -> None:
    network = BedNetwork(options.bed)
    table = images.table(dict(options.program))
    async with Api.from_kubeconfig(options.kubeconfig) as api:
        running = asyncio.create_task(Kubelet(api, network, table, options.directory).run())
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, running.cancel)
        with suppress(asyncio.CancelledError):
            await running


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m e2e.bed.kubelet", description=__doc__)
    parser.add_argument("--bed", type=int, required=True, help="number of the bed, whose network is there already")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--directory", type=Path, required=True, help="the bed's directory; logs go to its logs/")
    parser.add_argument("--program", type=_program, action="append", default=[], metavar="NAME=PATH")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
