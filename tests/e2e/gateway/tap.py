"""A byte relay that records the WebSocket messages of the connections through it.

It can end TLS on the side of the client, and begin TLS on the other side. It changes no byte of
what it relays.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator

from recording import CLIENT, VENDOR, Decoder, Message


class Tap:
    """A listening relay, and the messages that have passed."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self.onward = port
        """The port on this machine to which it relays."""
        self.onward_tls = tls
        self.port = 0
        self.messages: list[Message] = []
        self.failure: BaseException | None = None
        """The first failure to read a message, which a check must report."""
        self._connections = 0
        self._writers: set[asyncio.StreamWriter] = set()

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relays one connection until both directions have ended."""
        self._connections += 1
        number = self._connections
        try:
            # An address, so that a certificate for it is checked; the name is that of the client.
            onward = await asyncio.open_connection("127.0.0.1", self.onward, ssl=self.onward_tls)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, onward[1]}
        try:
            await asyncio.gather(
                self._pump(reader, onward[1], number, CLIENT),
                self._pump(onward[0], writer, number, VENDOR),
            )
        finally:
            self._writers -= {writer, onward[1]}

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connection: int,
        sender: str,
    ) -> None:
        decoder = Decoder()
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                try:
                    for opcode, payload in decoder.feed(data):
                        self._note(Message(connection, sender, opcode, payload))
                except Exception as failure:
                    self.failure = self.failure or failure
                    raise
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()

    def _note(self, message: Message) -> None:
        # The second close frame of a connection is the echo that the protocol demands.
        if message.opcode == "close" and any(
            it.opcode == "close" and it.connection == message.connection for it in self.messages
        ):
            return
        self.messages.append(message)

    def drop(self) -> None:
        """Ends all connections at once, without a close frame."""
        for writer in self._writers:
            writer.transport.abort()


@contextlib.asynccontextmanager
async def tapping(
    port: int, accepted: ssl.SSLContext | None = None, onward: ssl.SSLContext | None = None
) -> AsyncIterator[Tap]:
    """Relays to a port of this machine: TLS with `accepted` for clients, `onward` behind it."""
    tap = Tap(port, onward)
    server = await asyncio.start_server(tap.relay, "127.0.0.1", 0, ssl=accepted)
    tap.port = server.sockets[0].getsockname()[1]
    try:
        yield tap
    finally:
        server.close()
        tap.drop()
    if tap.failure is not None:
        raise AssertionError(f"the tap could not read a message: {tap.failure!r}")
