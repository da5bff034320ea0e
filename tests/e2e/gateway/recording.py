"""A recording: the messages of WebSocket connections, with their exact payloads."""

from __future__ import annotations

import base64
import collections
import dataclasses
import json
import pathlib
from collections.abc import Iterator

CLIENT, VENDOR = "client", "vendor"
"""The senders of messages: the side that connected, and the side that accepted."""

_OPCODES = {1: "text", 2: "binary", 8: "close"}


@dataclasses.dataclass(frozen=True)
class Message:
    """One message, whatever its fragments were."""

    connection: int
    """The number of its connection, from 1, in the order in which they were accepted."""
    sender: str
    opcode: str
    """`handshake`, `text`, `binary` or `close`."""
    payload: bytes

    def text(self) -> str:
        """Returns the payload as text, or an empty one for bytes that are no UTF-8."""
        try:
            return self.payload.decode()
        except UnicodeDecodeError:
            return ""

    def line(self) -> str:
        """Returns the message as one line of JSON."""
        told: dict[str, object] = {
            "connection": self.connection,
            "sender": self.sender,
            "opcode": self.opcode,
        }
        try:
            told["payload"] = self.payload.decode()
        except UnicodeDecodeError:
            told["base64"] = base64.b64encode(self.payload).decode()
        return json.dumps(told)


def write(path: pathlib.Path, messages: list[Message]) -> None:
    """Writes a recording, one message a line."""
    path.write_text("".join(f"{message.line()}\n" for message in messages))


def read(path: pathlib.Path) -> list[Message]:
    """Reads a recording that `write` has written."""
    found = []
    for line in path.read_text().splitlines():
        told = json.loads(line)
        payload = base64.b64decode(told["base64"]) if "base64" in told else told["payload"].encode()
        found.append(Message(told["connection"], told["sender"], told["opcode"], payload))
    return found


def streams(messages: list[Message]) -> dict[tuple[int, str], list[Message]]:
    """Returns the messages of each connection and sender, in their order."""
    found: dict[tuple[int, str], list[Message]] = collections.defaultdict(list)
    for message in messages:
        found[message.connection, message.sender].append(message)
    return dict(found)


class Decoder:
    """Reads one direction of a WebSocket connection, from the head of HTTP on.

    Pings and pongs are left out: each side of a gateway has its own. An extension is an error,
    because neither the simulator nor the gateway accepts one.
    """

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._in_head = True
        self._opcode, self._payload = 0, bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        """Takes further bytes, and returns the opcode and payload of each complete message."""
        self._bytes += data
        if self._in_head:
            end = self._bytes.find(b"\r\n\r\n")
            if end < 0:
                return
            head, self._in_head = bytes(self._bytes[:end]), False
            del self._bytes[: end + 4]
            yield "handshake", head
        while (frame := self._frame()) is not None:
            first, payload = frame
            assert not first & 0x70, f"a frame has an extension: {first:#x}"
            opcode = first & 0x0F
            if opcode >= 8:
                if opcode == 8:
                    yield "close", payload
                continue
            if opcode != 0:
                self._opcode, self._payload = opcode, bytearray()
            self._payload += payload
            if first & 0x80:
                yield _OPCODES[self._opcode], bytes(self._payload)

    def _frame(self) -> tuple[int, bytes] | None:
        """Takes the next frame off the bytes: its first byte and its unmasked payload."""
        have = self._bytes
        if len(have) < 2:
            return None
        size, at = have[1] & 0x7F, 2
        if size >= 126:
            width = 2 if size == 126 else 8
            size, at = int.from_bytes(have[2 : 2 + width], "big"), 2 + width
        mask = bytes(have[at : at + 4]) if have[1] & 0x80 else b""
        at += 4 if have[1] & 0x80 else 0
        if len(have) < at + size:
            return None
        payload = bytes(have[at : at + size])
        first = have[0]
        del have[: at + size]
        if mask:
            keys = mask * (size // 4 + 1)
            payload = bytes(byte ^ key for byte, key in zip(payload, keys, strict=False))
        return first, payload
