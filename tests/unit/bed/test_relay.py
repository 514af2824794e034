"""The relay between two ends in one namespace; the step into another one is tried with the whole bed."""

import asyncio
import socket

import pytest

from e2e.bed.relay import serve


async def test_bytes_go_both_ways_and_an_end_closes_one_way_only() -> None:
    served = asyncio.Event()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1000):
            writer.write(data.upper())
        writer.write(b" bye")
        writer.close()
        await writer.wait_closed()
        served.set()

    far = await asyncio.start_server(echo, "127.0.0.2", 0)
    port = far.sockets[0].getsockname()[1]
    near = socket.create_server(("127.0.0.1", 0))
    relay = asyncio.create_task(serve(near, "127.0.0.2", port))
    reader, writer = await asyncio.open_connection(*near.getsockname())
    writer.write(b"hello")
    assert await reader.readexactly(5) == b"HELLO"
    writer.write_eof()
    assert await reader.read() == b" bye"
    await served.wait()
    writer.close()
    await writer.wait_closed()
    relay.cancel()
    with pytest.raises(asyncio.CancelledError):
        await relay
    far.close()
    await far.wait_closed()


async def test_a_server_that_is_not_there_looks_like_that() -> None:
    free = socket.create_server(("127.0.0.2", 0))
    port = free.getsockname()[1]
    free.close()
    near = socket.create_server(("127.0.0.1", 0))
    relay = asyncio.create_task(serve(near, "127.0.0.2", port))
    reader, writer = await asyncio.open_connection(*near.getsockname())
    assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    relay.cancel()
    with pytest.raises(asyncio.CancelledError):
        await relay
