"""Clients whose orders are held: each reconnects by its handle for as long as its orders take.

    kills_client.py --url ws://127.0.0.1:PORT --witness FILE --orders 50 --clients 10 [--seed 1]

They are plain WebSocket clients. An order is said until a call for it was delivered, each time with
another number, so that each call has words of its own. Before a client answers a call, it appends
a line to FILE. It prints one line when all orders are answered, and stays until its input ends.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import random
import sys
import time
from typing import Any

import websockets
from websockets.asyncio.client import ClientConnection, connect

PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"

# The time between two attempts to connect, in seconds.
RECONNECT_S = 0.05

# An order is said again after this time without a call for it, in seconds. A held call takes less,
# also over a kill, so most of the later sayings are for calls that were never received.
PATIENCE_S = 3.0

# The maximum time that a tool takes, in seconds: a kill falls between delivery and answer.
WORK_S = 0.05

# The tool of an order, in turn.
TOOLS = ("refund", "transfer")


class Client:
    """A client with its orders, over any number of connections."""

    def __init__(self, url: str, number: int, orders: int, witness: pathlib.Path) -> None:
        self.url, self.number, self.witness = url + PATH, number, witness
        self.waiting = [f"{number}-{it}" for it in range(orders)]
        self.randomness = random.Random(number)
        self.handle: str | None = None
        self.said = 0
        self.said_at = 0.0
        self.answered = asyncio.Event()
        """Set once all orders are answered."""

    async def run(self) -> None:
        """Connects again and again."""
        while True:
            with contextlib.suppress(OSError, websockets.WebSocketException, TimeoutError):
                key = {"x-goog-api-key": f"key-{self.number}"}
                async with connect(self.url, additional_headers=key, compression=None) as socket:
                    await self.converse(socket)
            await asyncio.sleep(RECONNECT_S)

    async def converse(self, socket: ClientConnection) -> None:
        """Serves one connection until it ends."""
        declared = [{"name": name, "description": f"Does {name}."} for name in TOOLS]
        resumption = {} if self.handle is None else {"handle": self.handle}
        setup = {
            "model": "models/gemini-live-test",
            "tools": [{"functionDeclarations": declared}],
            "sessionResumption": resumption,
        }
        await socket.send(json.dumps({"setup": setup}))
        try:
            first = await socket.recv()
        except websockets.ConnectionClosed as closed:
            if closed.rcvd is not None and closed.rcvd.code == 1007:
                self.handle = None
            raise
        assert "setupComplete" in json.loads(first), first
        while True:
            await self.speak(socket)
            with contextlib.suppress(asyncio.TimeoutError):
                message = json.loads(await asyncio.wait_for(socket.recv(), 0.2))
                await self.take(socket, message)

    async def speak(self, socket: ClientConnection) -> None:
        """Says the next order, or the same one again after a time without a call."""
        if not self.waiting or self.handle is None:
            return
        if time.monotonic() - self.said_at < PATIENCE_S:
            return
        self.said += 1
        self.said_at = time.monotonic()
        order = self.waiting[0]
        words = f"{TOOLS[int(order.split('-')[1]) % len(TOOLS)]} {order}.{self.said}"
        self.note("said", words)
        turn = {"role": "user", "parts": [{"text": words}]}
        content = {"turns": [turn], "turnComplete": True}
        await socket.send(json.dumps({"clientContent": content}))

    async def take(self, socket: ClientConnection, message: dict[str, Any]) -> None:
        """Takes a message of the service."""
        update = message.get("sessionResumptionUpdate", {})
        self.handle = update.get("newHandle") or self.handle
        for call in message.get("toolCall", {}).get("functionCalls", []):
            words = call["args"]["note"]
            self.note("delivered", words)
            await asyncio.sleep(self.randomness.uniform(0, WORK_S))
            response = {"id": call["id"], "name": call["name"], "response": {"output": words}}
            await socket.send(json.dumps({"toolResponse": {"functionResponses": [response]}}))
            order = words.split()[1].split(".")[0]
            if order in self.waiting:
                self.waiting.remove(order)
                self.said_at = 0.0
            if not self.waiting:
                self.answered.set()

    def note(self, what: str, words: str) -> None:
        """Appends a line to the witness, in one write."""
        line = json.dumps({what: words, "client": self.number, "at": time.time()}) + "\n"
        file = os.open(self.witness, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, line.encode())
        os.close(file)


async def wait_for_all(clients: list[Client]) -> None:
    """Waits until each client has answered a call for each of its orders."""
    for client in clients:
        await client.answered.wait()


async def serve(given: argparse.Namespace) -> None:
    """Runs the clients until the input of this process ends."""
    share = [given.orders // given.clients] * given.clients
    for number in range(given.orders % given.clients):
        share[number] += 1
    clients = [
        Client(given.url, number, orders, given.witness) for number, orders in enumerate(share)
    ]
    running = [asyncio.create_task(client.run()) for client in clients]
    all_answered = asyncio.create_task(wait_for_all(clients))
    await asyncio.wait([*running, all_answered], return_when=asyncio.FIRST_COMPLETED)
    for task in running:
        if task.done():
            # A client runs for ever, so it has failed.
            task.result()
    print("answered", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in running:
        task.cancel()


def main() -> None:
    """Runs the clients."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--witness", type=pathlib.Path, required=True)
    parser.add_argument("--orders", type=int, required=True)
    parser.add_argument("--clients", type=int, required=True)
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
