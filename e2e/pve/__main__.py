"""Run the simulation: `python -m e2e.pve --listen 127.0.0.1:8006 --node pve1 --template 9000 --token 'a@pve!b=secret'`.

Prints one line, `listening on http://HOST:PORT`, when it takes requests; ends on SIGINT or SIGTERM. With port 0 the
system picks a free one.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
from collections.abc import Sequence

from aiohttp import web

from e2e.pve.options import OptionError, make_cluster, parse_listen
from e2e.pve.server import make_app
from e2e.pve.simulation import Simulation


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m e2e.pve", description="A simulated Proxmox VE API.")
    parser.add_argument("--listen", default="127.0.0.1:8006", metavar="HOST:PORT")
    parser.add_argument("--node", action="append", default=[], metavar="NAME", help="may be given several times")
    parser.add_argument(
        "--template", action="append", default=[], metavar="ID[,node=..][,tags=a;b][,bridge=..][,vlan=..]"
    )
    parser.add_argument("--token", action="append", default=[], metavar="USER@REALM!NAME=SECRET[,read-only]")
    parser.add_argument("--bridge", action="append", default=[], metavar="NAME", help="without any, all bridges exist")
    parser.add_argument("--task-seconds", type=float, default=0.3, help="how long every task takes")
    parser.add_argument("--boot-seconds", type=float, default=0.5, help="from start until the guest agent answers")
    return parser.parse_args(arguments)


async def serve(options: argparse.Namespace) -> None:
    """Serve until SIGINT or SIGTERM."""
    cluster = make_cluster(options.node, options.template, options.token, options.bridge)
    held = Simulation.of(cluster, time.time, task_seconds=options.task_seconds, boot_seconds=options.boot_seconds)
    host, port = parse_listen(options.listen)
    runner = web.AppRunner(make_app(held), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        print(f"listening on http://{runner.addresses[0][0]}:{runner.addresses[0][1]}", flush=True)
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await stop.wait()
    finally:
        await runner.cleanup()


def main() -> int:
    options = parse(sys.argv[1:])
    try:
        asyncio.run(serve(options))
    except (OptionError, OSError) as fault:  # OSError: the address is taken, or not of this host
        print(f"e2e.pve: {fault}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
