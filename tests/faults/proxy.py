"""A TCP proxy in front of the broker that delays what passes, loses it, or resets connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
CHUNK = 65_536
RESET_AT_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER of no seconds: closing sends a reset instead of an orderly end."""


class Proxy:
    """A context manager; what it does to connections may change at any time, from any thread.

    Attributes
    ----------
    port
        Where it listens.
    target
        The port of the broker that it passes connections on to.
    delay
        Seconds that each chunk is held, in each direction.
    loses
        Whether everything that comes is lost; connections that met this are of no use any more, `reset` them after.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self.target = 0
        self.delay = 0.0
        self.loses = False
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def reset(self) -> None:
        """Reset every connection; new ones may come at once."""
        self._loop.call_soon_threadsafe(self._reset)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(asyncio.start_server(self._connected, sock=self._listener))
        self._loop.run_forever()
        self._reset()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                self._loop.run_until_complete(task)
        self._listener.close()
        self._loop.close()

    def _reset(self) -> None:
        for writer in self._writers:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        self._writers.add(writer)
        try:
            with contextlib.suppress(OSError):
                inner_reader, inner_writer = await asyncio.open_connection(HOST, self.target)
                writers.append(inner_writer)
                self._writers.add(inner_writer)
                await asyncio.gather(self._pump(reader, inner_writer), self._pump(inner_reader, writer))
        finally:
            for one in writers:
                one.transport.abort()
                self._writers.discard(one)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on until one side ends, which ends both directions."""
        while chunk := await reader.read(CHUNK):
            await asyncio.sleep(self.delay)
            if not self.loses:
                writer.write(chunk)
                await writer.drain()
        raise ConnectionResetError
