"""Judges the gateway: the vendor's own clients, with it and without it.

    judge.py PROGRAM [--node DIRECTORY] [--other PYTHON:CLIENT.py] [--keep DIRECTORY] [--direct]

Each client holds its conversations with `recount simulate` directly, twice. Then it does so through
the gateway, with nothing changed but the URL and the trusted certificate: one call of each
treatment, sound, parallel calls, an interruption, a cancellation while a call is held, and a second
connection. What the client and the vendor saw may differ only in what policy held, added or hid.
Then it connects to the gateway's own TLS, for calls that outlast a turn or a connection. At last,
the sessions on record are exported as fixtures, and played.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import pathlib
import tempfile
import time
from typing import Any

import fixtures
import recording
from differ import CANCELLED, DENIED, HELD, HOSTED, Allowed, compare
from gateway import Gateway, answering, gating, nothing_waits
from programs import Client, certificate, server_context, simulating
from recording import CLIENT, VENDOR, Message
from tap import tapping

ALLOWED = Allowed(
    {
        "mixed-2": HELD,
        "mixed-4": HOSTED,
        "quiet-1": HELD,
        "approved-1": HELD,
        "denied-1": DENIED,
        "hosted-1": HOSTED,
        "cancelled-2": CANCELLED,
    },
    frozenset({"server_time"}),
)

# The calls of each scene, with the outcome on record and whether the client receives them.
CALLS: dict[str, list[tuple[str, str, str, bool]]] = {
    "observed": [("observed-1", "look_up", "returned", True)],
    "mixed": [
        ("mixed-1", "look_up", "returned", True),
        ("mixed-2", "refund", "returned", True),
        ("mixed-3", "look_up", "returned", True),
        ("mixed-4", "server_time", "returned", False),
    ],
    "quiet": [("quiet-1", "refund", "returned", True)],
    "approved": [("approved-1", "refund", "returned", True)],
    "denied": [("denied-1", "wipe", "denied", False)],
    "hosted": [("hosted-1", "server_time", "returned", False)],
    "cancelled": [
        ("cancelled-1", "look_up", "withdrawn", True),
        ("cancelled-2", "refund", "withdrawn", False),
    ],
    "inline": [("inline-1", "transfer", "returned", True)],
    "across": [("across-1", "refund", "returned", True)],
}

# The order of a call that the model cancels; an approver must not be faster.
CANCELLED_ORDER = "A-22"

PATIENCE_S = 30


class Seen:
    """The file in which a client program notes what it saw."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    @staticmethod
    def anew(path: pathlib.Path) -> Seen:
        """Returns the file without what an earlier run has noted in it."""
        path.unlink(missing_ok=True)
        return Seen(path)

    def values(self, what: str) -> list[Any]:
        """Returns what was noted under this key."""
        text = self.path.read_text() if self.path.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
        return [line[what] for line in lines if what in line]

    def decide(self, asked: dict[str, Any]) -> bool | None:
        """Decides as the approver of these scenes."""
        args = asked["args"]
        if asked["tool"] == "wipe":
            return False
        if args.get("order") == CANCELLED_ORDER:
            return None
        if asked["tool"] == "transfer":
            return True if "inline-1" in self.values("waiting") else None
        if args.get("order") == "later":
            return True if "across-1" in self.values("waiting") else None
        return True


async def direct(
    program: pathlib.Path, client: Client, directory: pathlib.Path, name: str
) -> list[Message]:
    """Holds the conversations without a gateway. Returns what passed."""
    pem = certificate(directory)
    tls = server_context(pem) if client.needs_tls else None
    with simulating(program) as port:
        async with tapping(port, accepted=tls) as tap:
            seen = directory / f"{name}.seen"
            await client.run(url(client, tap.port), seen, client.scenes, pem)
    recording.write(directory / f"{name}.jsonl", tap.messages)
    return conversations(client, tap.messages)


def url(client: Client, port: int) -> str:
    """Returns the base URL that a client is given."""
    return f"{'https' if client.needs_tls else 'http'}://127.0.0.1:{port}"


async def through(
    program: pathlib.Path, client: Client, directory: pathlib.Path, without: list[Message]
) -> str:
    """Holds the conversations through the gateway, and compares. Returns what passed."""
    pem = certificate(directory)
    tls = server_context(pem) if client.needs_tls else None
    seen = Seen.anew(directory / f"{client.name}-gateway.seen")
    with simulating(program) as vendor:
        async with tapping(vendor) as behind:
            with gating(program, behind.port) as gateway:
                async with tapping(gateway.plain, accepted=tls) as before:
                    with answering(gateway, seen.decide):
                        await client.run(url(client, before.port), seen.path, client.scenes, pem)
                # The scenes that need a gateway have no counterpart without one.
                sides = {CLIENT: before.messages, VENDOR: list(behind.messages)}
                record(directory, client, sides)
                check_seen(seen, client.scenes)
                for side, messages in sides.items():
                    found = compare(without, conversations(client, messages), ALLOWED, side)
                    assert not found, f"{client.name}, at the {side}:\n" + "\n".join(found)
                await asyncio.to_thread(nothing_waits, gateway, PATIENCE_S)
                await outlasting(client, gateway, directory)
                check_outcomes(gateway, (*client.scenes, *client.gated))
                played = await asyncio.to_thread(fixtures.check, gateway)
    sizes = f"{len(sides[CLIENT])} and {len(sides[VENDOR])} at the sides of the gateway"
    return f"{sizes}; {played} sessions play as fixtures"


def record(directory: pathlib.Path, client: Client, sides: dict[str, list[Message]]) -> None:
    """Writes what passed at each side of the gateway, for a look at a difference."""
    for side, messages in sides.items():
        recording.write(directory / f"{client.name}-gateway-at-{side}.jsonl", messages)


async def outlasting(client: Client, gateway: Gateway, directory: pathlib.Path) -> None:
    """Connects to the gateway's own TLS, for the scenes that need a gateway."""
    seen = Seen.anew(directory / f"{client.name}-gated.seen")
    address = f"https://127.0.0.1:{gateway.tls}"
    with answering(gateway, seen.decide):
        await client.run(address, seen.path, client.gated, gateway.authorities)
    check_seen(seen, client.gated)
    await asyncio.to_thread(nothing_waits, gateway, PATIENCE_S)


def check_seen(seen: Seen, scenes: tuple[str, ...]) -> None:
    """The client program received exactly the calls that it must, each once."""
    received = sorted(call[0] for call in seen.values("call"))
    calls = [call for scene in scenes for call in CALLS.get(scene, [])]
    expected = sorted(name for name, _, _, delivered in calls if delivered)
    assert received == expected, f"the client received {received}, expected {expected}"


def check_outcomes(gateway: Gateway, scenes: tuple[str, ...]) -> None:
    """Each call is on record, with its outcome."""
    found = {row["wire_id"]: (row["tool"], row["ended"]["outcome"]) for row in gateway.decisions()}
    calls = [call for scene in scenes for call in CALLS.get(scene, [])]
    expected = {name: (tool, outcome) for name, tool, outcome, _ in calls}
    assert found == expected, f"on record are {found}, expected {expected}"


def conversations(client: Client, messages: list[Message]) -> list[Message]:
    """Returns the messages that must be the same each time.

    Of pipecat, these are those of connections on which it sent more than a setup: it first
    connects with a bare setup, and closes that connection whenever it likes.
    """
    if not client.is_framework:
        return messages
    spoken = {
        it.connection
        for it in messages
        if it.sender == CLIENT and it.opcode == "text" and '"setup"' not in it.text()
    }
    numbers = {connection: number for number, connection in enumerate(sorted(spoken), 1)}
    return [
        dataclasses.replace(it, connection=numbers[it.connection])
        for it in messages
        if it.connection in numbers
    ]


async def judge(
    program: pathlib.Path, clients: list[Client], directory: pathlib.Path, *, gated: bool
) -> None:
    """Judges each client."""
    for client in clients:
        begun = time.monotonic()
        first = await direct(program, client, directory, f"{client.name}-direct")
        again = await direct(program, client, directory, f"{client.name}-again")
        found = compare(first, again, Allowed(), CLIENT)
        assert not found, "the client is not the same twice:\n" + "\n".join(found)
        told = f"{client.name}: {len(first)} messages, the same twice"
        if gated:
            told += "; " + await through(program, client, directory, first)
        print(f"{told}; {time.monotonic() - begun:.1f} s")


def main() -> None:
    """Judges the clients that were named, and Python's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--node", type=pathlib.Path, help="a directory with @google/genai")
    parser.add_argument("--other", action="append", default=[], metavar="PYTHON:CLIENT.py")
    parser.add_argument("--keep", type=pathlib.Path, help="where the recordings are kept")
    parser.add_argument("--direct", action="store_true", help="without a gateway alone")
    given = parser.parse_args()
    clients = [Client.of(*it.split(":")) for it in given.other] or [Client.python()]
    clients += [Client.node(given.node.resolve())] if given.node else []
    with tempfile.TemporaryDirectory() as temporary:
        directory = given.keep or pathlib.Path(temporary)
        directory.mkdir(exist_ok=True)
        asyncio.run(judge(given.program.resolve(), clients, directory, gated=not given.direct))


if __name__ == "__main__":
    main()
