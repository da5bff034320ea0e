"""A vendor that can be killed: each order becomes a call, and all that it is told is on file.

    kills_vendor.py --port PORT --witness FILE

`recount simulate` makes up ids anew on each connection. Those of the real service are unique, and
so are the ids and handles here, also over restarts. FILE gets a line for each call before it is
sent, for each response, and for each outcome that comes as conversation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pathlib
import uuid
from typing import Any

import websockets
from websockets.asyncio.server import ServerConnection, serve

OUTCOME = "[tool outcome]"
"""The beginning of an outcome that comes as conversation."""


class Vendor:
    """The service, on one connection."""

    def __init__(self, socket: ServerConnection, witness: pathlib.Path) -> None:
        self.socket, self.witness = socket, witness
        self.open: dict[str, str] = {}
        """The words of each call that waits for its response, by its id."""

    def note(self, what: str, words: str) -> None:
        """Appends a line to the witness, in one write."""
        file = os.open(self.witness, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, (json.dumps({what: words}) + "\n").encode())
        os.close(file)

    async def send(self, message: object) -> None:
        """Sends a message in a binary frame, as the real service does."""
        await self.socket.send(json.dumps(message).encode())

    async def handle(self) -> None:
        """Issues a handle, unless a call waits."""
        update: dict[str, object] = {}
        if not self.open:
            update = {"newHandle": uuid.uuid4().hex, "resumable": True}
        await self.send({"sessionResumptionUpdate": update})

    async def say(self, text: str) -> None:
        """Says a text as a turn of the model."""
        turn = {"role": "model", "parts": [{"text": text}]}
        await self.send({"serverContent": {"modelTurn": turn}})
        await self.send({"serverContent": {"generationComplete": True, "turnComplete": True}})
        await self.handle()

    async def take(self, message: dict[str, Any]) -> None:
        """Takes a message of the client."""
        if "setup" in message:
            await self.send({"setupComplete": {}})
            await self.handle()
        for turn in message.get("clientContent", {}).get("turns", []):
            await self.heard("".join(part.get("text", "") for part in turn["parts"]))
        for response in message.get("toolResponse", {}).get("functionResponses", []):
            words = self.open.pop(response["id"], None)
            if words is None:
                # The real service ignores it, and the model stays silent.
                self.note("ignored", response["id"])
                continue
            self.note("response", words)
            self.note("with", json.dumps(response["response"]))
            await self.say(f"Done: {words}")

    async def heard(self, words: str) -> None:
        """Takes words of the user, which may tell the outcome of a call."""
        if OUTCOME in words:
            self.note("told", words)
            await self.say("Noted.")
            return
        name, call = words.partition(" ")[0], uuid.uuid4().hex
        self.open[call] = words
        self.note("called", words)
        function = {"id": call, "name": name, "args": {"note": words}}
        await self.send({"toolCall": {"functionCalls": [function]}})
        await self.handle()

    async def run(self) -> None:
        """Serves the connection until it ends."""
        try:
            async for text in self.socket:
                await self.take(json.loads(text))
        except websockets.ConnectionClosed:
            pass


async def listen(port: int, witness: pathlib.Path) -> None:
    """Serves until it is killed."""

    async def connected(socket: ServerConnection) -> None:
        await Vendor(socket, witness).run()

    async with serve(connected, "127.0.0.1", port, compression=None):
        print("listening", flush=True)
        await asyncio.get_running_loop().create_future()


def main() -> None:
    """Serves a port of this machine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--witness", type=pathlib.Path, required=True)
    given = parser.parse_args()
    asyncio.run(listen(given.port, given.witness))


if __name__ == "__main__":
    main()
