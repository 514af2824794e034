"""`python -m e2e.bed.relay NETNS ADDRESS PORT`: lets a bed's pods reach an API server that only this machine reaches.

It listens on the server's own address inside the bed's namespace, so that certificates and configurations stay as they
are, and passes bytes on from outside. It decides and reads nothing.
"""

import argparse
import asyncio
import ctypes
import os
import socket
import threading
from pathlib import Path

from e2e.bed.errors import NetworkError

NEW_NETWORK = 0x40000000  # CLONE_NEWNET
CHUNK = 1 << 16


def listen_in(namespace: Path, address: str, port: int) -> socket.socket:
    """A listening socket inside another network namespace. Raises NetworkError."""
    made: list[socket.socket | OSError] = []

    def make() -> None:
        # A thread of its own changes namespace and ends: a socket stays where it was made, the process stays here.
        try:
            with namespace.open() as handle:
                if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), NEW_NETWORK) != 0:
                    number = ctypes.get_errno()
                    raise OSError(number, os.strerror(number))
            made.append(socket.create_server((address, port)))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise NetworkError(f"cannot listen on {address}:{port} in {namespace.name}: {made[0]}") from made[0]
    return made[0]


async def serve(listening: socket.socket, address: str, port: int) -> None:
    """Pass every connection on to the same address as this process sees it, for ever."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(address, port)
        except OSError:
            # Closing is all a relay can say; the caller sees a server that is not there.
            writer.close()
            return
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_copy(reader, far_writer))
                both.create_task(_copy(far_reader, writer))
        except* OSError:
            pass  # either side may break off; then both are closed
        finally:
            far_writer.close()
            writer.close()

    async with await asyncio.start_server(pass_on, sock=listening) as server:
        print("relaying", flush=True)
        await server.serve_forever()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(CHUNK):
        target.write(data)
        await target.drain()
    # Only this direction is at its end; the answer may still be on its way.
    target.write_eof()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m e2e.bed.relay", description=__doc__)
    parser.add_argument("netns", type=Path)
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    options = parser.parse_args()
    listening = listen_in(Path("/run/netns") / options.netns, options.address, options.port)
    asyncio.run(serve(listening, options.address, options.port))


if __name__ == "__main__":
    main()
