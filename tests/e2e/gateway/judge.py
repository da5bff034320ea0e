"""Judges the gateway: the vendor's own clients, with it and without it.

    judge.py PROGRAM [--node DIRECTORY] [--keep DIRECTORY]

Each client holds its conversations with `recount simulate` directly. Then it does so through the
gateway, with nothing changed but the URL and the trusted certificate.
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
import tempfile

import recording
from differ import Allowed, compare
from programs import SCENES, Client, certificate, server_context, simulating
from recording import CLIENT, Message
from tap import tapping


async def direct(
    program: pathlib.Path, client: Client, directory: pathlib.Path, name: str
) -> list[Message]:
    """Holds the conversations without a gateway. Returns what passed."""
    pem = certificate(directory)
    tls = server_context(pem) if client.needs_tls else None
    seen = directory / f"{name}.seen"
    with simulating(program) as port:
        async with tapping(port, accepted=tls) as tap:
            scheme = "http" if tls is None else "https"
            await client.run(f"{scheme}://127.0.0.1:{tap.port}", seen, SCENES, pem)
    recording.write(directory / f"{name}.jsonl", tap.messages)
    return tap.messages


async def judge(program: pathlib.Path, clients: list[Client], directory: pathlib.Path) -> None:
    """Judges each client."""
    for client in clients:
        name = client.name
        first = await direct(program, client, directory, f"{name}-direct")
        again = await direct(program, client, directory, f"{name}-again")
        found = compare(first, again, Allowed(), CLIENT)
        assert not found, "the client is not the same twice:\n" + "\n".join(found)
        print(f"{name}: {len(first)} messages, the same twice")


def main() -> None:
    """Judges both clients, or Python's alone."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--node", type=pathlib.Path, help="a directory with @google/genai")
    parser.add_argument("--keep", type=pathlib.Path, help="where the recordings are kept")
    given = parser.parse_args()
    clients = [Client.python()] + ([Client.node(given.node.resolve())] if given.node else [])
    with tempfile.TemporaryDirectory() as temporary:
        directory = given.keep or pathlib.Path(temporary)
        directory.mkdir(exist_ok=True)
        asyncio.run(judge(given.program.resolve(), clients, directory))


if __name__ == "__main__":
    main()
