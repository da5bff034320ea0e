"""Plants differences in recordings, and expects the differ to find each; the allowed ones pass.

differ_test.py
"""

from __future__ import annotations

import dataclasses
import pathlib
import tempfile

import recording
from differ import CANCELLED, DENIED, HELD, HOSTED, Allowed, compare
from recording import CLIENT, VENDOR, Decoder, Message

AUDIO = '{"serverContent":{"modelTurn":{"parts":[{"inlineData":{"data":"%s"}}]}}}'
LOOK_TOO = '{"id":"f","name":"look_up"}'
LOOK = '{"id":"a","name":"look_up","args":{"total": 12.50}}'
REFUND = '{"id":"b","name":"refund","args":{"note":"caf\\u00e9"}}'
WIPE = '{"id":"c","name":"wipe","args":{}}'
TIME = '{"id":"d","name":"server_time"}'
SLOW = '{"id":"e","name":"refund"}'
SETUP = '{"setup": {"model": "m", "tools": [{"functionDeclarations": [{"name": "refund"}]}]}}'

ALLOWED = Allowed({"b": HELD, "c": DENIED, "d": HOSTED, "e": CANCELLED}, frozenset({"server_time"}))


def calls(*items: str, beside: str = "") -> str:
    """Returns a frame of calls, as the simulator writes it."""
    return '{"toolCall":{"functionCalls":[' + ",".join(items) + "]}" + beside + "}"


def answers(*ids: str) -> str:
    """Returns a client's responses, as Python's library writes them."""
    items = ", ".join(f'{{"id": "{it}", "response": {{"output": 1}}}}' for it in ids)
    return '{"tool_response": {"functionResponses": [' + items + "]}}"


def said(sender: str, text: str, opcode: str = "") -> Message:
    """Returns a message, with the opcode that its sender uses."""
    return Message(1, sender, opcode or ("text" if sender == CLIENT else "binary"), text.encode())


USAGE = ',"usageMetadata":{"totalTokenCount":321}'

# A conversation without the gateway.
WITHOUT = [
    said(CLIENT, "GET //ws/x?key=k HTTP/1.1\r\nHost: a\r\nx-goog-api-key: k", "handshake"),
    said(CLIENT, SETUP),
    said(VENDOR, '{"setupComplete":{}}'),
    said(VENDOR, AUDIO % "AAAA"),
    said(VENDOR, AUDIO % "AAAB"),
    said(VENDOR, calls(LOOK, REFUND, LOOK_TOO, WIPE, TIME, beside=USAGE)),
    said(CLIENT, answers("a", "b", "f", "c", "d")),
    said(VENDOR, AUDIO % "AAAC"),
    said(VENDOR, calls(SLOW)),
    said(VENDOR, '{"toolCallCancellation":{"ids":["e"]}}'),
    said(VENDOR, '{"serverContent":{"turnComplete":true}}'),
    said(CLIENT, "\x03", "close"),
]

# What the client saw of it through the gateway.
AT_CLIENT = [
    *WITHOUT[:5],
    said(VENDOR, "{" + USAGE[1:] + "}"),
    said(VENDOR, calls(LOOK, LOOK_TOO)),
    said(CLIENT, answers("a", "f")),
    said(VENDOR, AUDIO % "AAAC"),
    said(VENDOR, calls(REFUND)),
    said(CLIENT, answers("b")),
    *WITHOUT[10:],
]

DECLARED = SETUP.replace("]}]}}", ']}, {"functionDeclarations": [{"name": "server_time"}]}]}}')

# What the vendor saw of it.
AT_VENDOR = [
    said(CLIENT, "GET /ws/x?key=k HTTP/1.1\r\nHost: b\r\nx-goog-api-key: k", "handshake"),
    said(CLIENT, DECLARED),
    *WITHOUT[2:6],
    said(CLIENT, answers("a", "f")),
    said(CLIENT, '{"toolResponse":{"functionResponses":[{"id":"d","response":{"now":1}}]}}'),
    said(CLIENT, '{"toolResponse":{"functionResponses":[{"id":"c","response":{"error":1}}]}}'),
    said(CLIENT, answers("b")),
    *WITHOUT[7:],
]


def changed(messages: list[Message], old: str, new: str) -> list[Message]:
    """Returns the messages with this text in place of another one."""
    found = []
    for message in messages:
        payload = message.payload.replace(old.encode(), new.encode())
        found.append(dataclasses.replace(message, payload=payload))
    assert found != messages, f"{old} is nowhere"
    return found


def without(messages: list[Message], text: str) -> list[Message]:
    """Returns the messages without those that have this text."""
    found = [it for it in messages if text not in it.text()]
    assert found != messages, f"{text} is nowhere"
    return found


def moved(messages: list[Message], text: str, to: str) -> list[Message]:
    """Returns the messages with the one that has this text before another one."""
    which = next(it for it in messages if text in it.text())
    rest = [it for it in messages if it is not which]
    place = next(n for n, it in enumerate(rest) if to in it.text())
    return [*rest[:place], which, *rest[place:]]


def opcode(messages: list[Message], text: str) -> list[Message]:
    """Returns the messages with a text frame for the one that has this text."""
    return [dataclasses.replace(it, opcode="text") if text in it.text() else it for it in messages]


def twice(messages: list[Message], text: str) -> list[Message]:
    """Returns the messages with a second one after the one that has this text."""
    found = []
    for it in messages:
        found += [it, it] if text in it.text() else [it]
    return found


C, V = AT_CLIENT, AT_VENDOR
PLANTED: dict[str, tuple[str, str, list[Message]]] = {
    "one byte of audio": (CLIENT, VENDOR, changed(C, "AAAB", "AABB")),
    "one byte of audio, towards the vendor's side": (VENDOR, VENDOR, changed(V, "AAAB", "AABB")),
    "two frames in another order": (CLIENT, VENDOR, moved(C, "AAAB", "AAAA")),
    "a dropped frame": (CLIENT, VENDOR, without(C, "AAAC")),
    "a dropped last frame": (CLIENT, VENDOR, without(C, "turnComplete")),
    "a frame that was added": (CLIENT, VENDOR, twice(C, "AAAC")),
    "text instead of binary": (CLIENT, VENDOR, opcode(C, "AAAA")),
    "a held call as text": (CLIENT, VENDOR, opcode(C, '"b"')),
    "a digit of a call": (CLIENT, VENDOR, changed(C, "12.50", "12.5")),
    "an escape of a held call": (CLIENT, VENDOR, changed(C, "caf\\u00e9", "café")),
    "a held call twice": (CLIENT, VENDOR, twice(C, '"refund","args"')),
    "a held call never": (CLIENT, VENDOR, without(C, '"refund","args"')),
    "observed calls one by one": (
        CLIENT,
        VENDOR,
        [*C[:6], said(VENDOR, calls(LOOK)), said(VENDOR, calls(LOOK_TOO)), *C[7:]],
    ),
    "a held call beside an observed one": (
        CLIENT,
        VENDOR,
        without(changed(C, LOOK, f"{LOOK},{REFUND}"), calls(REFUND)),
    ),
    "a held call before its frame": (CLIENT, VENDOR, moved(C, '"refund","args"', "AAAA")),
    "a denied call": (CLIENT, VENDOR, changed(C, LOOK, f"{LOOK},{WIPE}")),
    "a hosted call alone": (CLIENT, VENDOR, [*C[:9], said(VENDOR, calls(TIME)), *C[9:]]),
    "usage that is lost": (CLIENT, VENDOR, changed(C, "321", "322")),
    "usage twice": (CLIENT, VENDOR, twice(C, "321")),
    "usage before its frame": (CLIENT, VENDOR, moved(C, "321", "AAAA")),
    "a cancellation of what the client never had": (CLIENT, VENDOR, [*C[:10], WITHOUT[9], *C[10:]]),
    "a hosted tool in the client's own setup": (CLIENT, CLIENT, [C[0], V[1], *C[2:]]),
    "another key": (VENDOR, CLIENT, changed(V, "x-goog-api-key: k", "x-goog-api-key: l")),
    "another path": (VENDOR, CLIENT, changed(V, "/ws/x", "/ws/y")),
    "a hosted tool of another name": (VENDOR, CLIENT, changed(V, '": "server_time"', '": "clock"')),
    "a setup that differs otherwise, too": (
        VENDOR,
        CLIENT,
        changed(V, '"model": "m"', '"model": "n"'),
    ),
    "a denied call without a response": (VENDOR, CLIENT, without(V, '{"id":"c","response"')),
    "a second response to a denied call": (VENDOR, CLIENT, twice(V, '{"id":"c","response"')),
    "the client's answer in another form": (VENDOR, CLIENT, changed(V, '{"id": "b"', '{"id":"b"')),
    "the client's answer twice": (VENDOR, CLIENT, twice(V, '{"id": "b"')),
    "another close code": (VENDOR, CLIENT, changed(V, "\x03", "\x04")),
    "a message that no client sent": (
        VENDOR,
        CLIENT,
        [*V[:6], said(CLIENT, '{"clientContent":{}}'), *V[6:]],
    ),
}


def plants() -> None:
    """The allowed differences pass, and each planted one is found in its direction alone."""
    assert compare(WITHOUT, WITHOUT, Allowed(), CLIENT) == []
    for at, through in ((CLIENT, C), (VENDOR, V)):
        assert compare(WITHOUT, through, ALLOWED, at) == [], compare(WITHOUT, through, ALLOWED, at)
        assert compare(WITHOUT, through, Allowed(), at), "nothing is allowed, and nothing is found"
    for name, (at, sender, through) in PLANTED.items():
        found = compare(WITHOUT, through, ALLOWED, at)
        assert len(found) == 1, f"{name}: expected one difference, found {found}"
        assert f"from the {sender}, " in found[0], f"{name}: {found[0]}"


def frame(first: int, payload: bytes, mask: bytes = b"") -> bytes:
    """Returns a frame of a WebSocket."""
    size = len(payload)
    masked = 0x80 if mask else 0
    if size < 126:
        head = bytes([first, masked | size])
    elif size < 65536:
        head = bytes([first, masked | 126]) + size.to_bytes(2, "big")
    else:
        head = bytes([first, masked | 127]) + size.to_bytes(8, "big")
    keys = mask * (size // 4 + 1) if mask else bytes(size)
    return head + mask + bytes(a ^ b for a, b in zip(payload, keys, strict=False))


def decodes() -> None:
    """Fragments, masks, pings and long frames are read, in pieces of any size."""
    long = bytes(range(256)) * 300
    stream = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" + frame(0x01, b"one ", b"mask")
    stream += frame(0x89, b"ping") + frame(0x80, b"message", b"keys") + frame(0x82, long, b"1234")
    stream += frame(0x82, b"x" * 200) + frame(0x88, b"\x03\xe8")
    expected = [
        ("handshake", b"GET / HTTP/1.1\r\nHost: a"),
        ("text", b"one message"),
        ("binary", long),
        ("binary", b"x" * 200),
        ("close", b"\x03\xe8"),
    ]
    for size in (1, 3, 7, len(stream)):
        decoder = Decoder()
        found: list[tuple[str, bytes]] = []
        for at in range(0, len(stream), size):
            found += decoder.feed(stream[at : at + size])
        assert found == expected, size


def keeps() -> None:
    """A recording is the same after it was written and read."""
    messages = [*WITHOUT, Message(2, VENDOR, "binary", b"\xff\xfe"), said(CLIENT, "two\nlines")]
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "recording.jsonl")
        recording.write(path, messages)
        assert recording.read(path) == messages


def main() -> None:
    """Runs the tests."""
    decodes()
    keeps()
    plants()
    print(f"{len(PLANTED)} planted differences found")


if __name__ == "__main__":
    main()
