"""Measures how long clients wait for a call that is held, and what they do meanwhile.

    holds.py PROGRAM [--python] [--node DIRECTORY] [--other PYTHON:CLIENT.py] [--seconds 1,30,300]

`recount simulate` is the vendor behind a gateway that holds a call: the call comes after that time.
Meanwhile it is silent, or speaks, or the model was told that a person is asked. It prints for each
client and hold when the call came, and if the client answered. Each runs in a process of its own,
all at the same time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import pathlib
import tempfile
import time

from programs import Client, certificate, server_context, simulating
from tap import tapping

# After this time without a decision, the model is told that a person is asked.
ACKNOWLEDGED_MS = 10_000

# Sound is sent in frames of this time, or of more if the simulator would need too many steps.
FRAME_MS = 100
FRAMES_MAX = 9_000

# The time that a client has for everything but the hold, in seconds.
PATIENCE_S = 120


def script(seconds: list[int]) -> tuple[str, list[str]]:
    """Returns the script of the vendor, and what a client says for each hold."""
    rules: list[object] = []
    said = []
    for hold in seconds:
        wait = hold * 1000
        every = max(FRAME_MS, wait // FRAMES_MAX)
        kinds: dict[str, list[object]] = {
            f"Quiet hold of {hold} s": [{"wait_ms": wait}],
            f"Spoken hold of {hold} s": [
                {"audio": {"frames": wait // every, "every_ms": every, "bytes": 4800}},
                {"serverContent": {"generationComplete": True}},
                {"serverContent": {"turnComplete": True}},
            ],
        }
        if wait > ACKNOWLEDGED_MS:
            kinds[f"Acknowledged hold of {hold} s"] = [
                {"wait_ms": ACKNOWLEDGED_MS},
                {"say": "I have asked."},
                {"wait_ms": wait - ACKNOWLEDGED_MS},
            ]
        for words, meanwhile in kinds.items():
            name = words.split()[0].lower() + f"-{hold}"
            call = {"id": name, "name": "refund", "args": {"order": "A-1", "cents": 1}}
            send = [*meanwhile, {"call": [call]}]
            rules.append({"on": {"text": words}, "once": False, "send": send})
            answered = {"on": {"responses_to": [name]}, "once": False}
            rules.append({**answered, "send": [{"say": "It is done."}]})
            said.append(words)
    rules.append({"on": "otherwise", "send": [{"say": "I beg your pardon?"}]})
    return "".join(json.dumps(rule) + "\n" for rule in rules), said


async def measure(
    client: Client, port: int, pem: pathlib.Path, words: str, directory: pathlib.Path
) -> str:
    """Runs one client over one hold, and returns what was measured."""
    tls = server_context(pem) if client.needs_tls else None
    seen = directory / f"{client.name} {words}.seen"
    begun, problem = time.monotonic(), ""
    told: dict[str, object] = {}
    limit = int(words.split()[-2]) + PATIENCE_S
    async with tapping(port, accepted=tls) as tap:
        url = f"{'http' if tls is None else 'https'}://127.0.0.1:{tap.port}"
        try:
            output = await asyncio.wait_for(client.run(url, seen, (words,), pem), limit)
            told["timeouts"] = [it[-160:] for it in output.splitlines() if "timed out" in it]
        except (AssertionError, asyncio.TimeoutError) as failure:
            problem = f" {str(failure).strip().splitlines()[-1:]}"
        told["seconds"] = round(time.monotonic() - begun, 1)
        told["connections"] = len({it.connection for it in tap.messages})
        told["closes"] = [
            f"{it.sender} {int.from_bytes(it.payload[:2], 'big')}"
            for it in tap.messages
            if it.opcode == "close"
        ]
    lines = seen.read_text().splitlines() if seen.exists() else []
    calls = sum("answered" in json.loads(line) for line in lines)
    told["errors"] = [it["error"] for line in lines if "error" in (it := json.loads(line))]
    verdict = "answered" if calls == 1 and not problem else f"answered {calls} times:{problem}"
    return f"{client.name}: {words}: {verdict}; {json.dumps(told)}"


async def run(program: pathlib.Path, clients: list[Client], seconds: list[int]) -> None:
    """Measures all clients over all holds, and prints each as it ends."""
    text, said = script(seconds)
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        pem = certificate(directory)
        played = directory / "holds.jsonl"
        played.write_text(text)
        with simulating(program, played) as port:
            running = [
                asyncio.create_task(measure(client, port, pem, words, directory))
                for client in clients
                for words in said
            ]
            for done in asyncio.as_completed(running):
                print(await done, flush=True)


def main() -> None:
    """Measures the clients that were named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--python", action="store_true", help="with the vendor's library here")
    parser.add_argument("--node", type=pathlib.Path, help="a directory with @google/genai")
    parser.add_argument("--other", action="append", default=[], metavar="PYTHON:CLIENT.py")
    parser.add_argument("--seconds", default="1,30,300")
    given = parser.parse_args()
    seconds = [int(it) for it in given.seconds.split(",")]
    clients = [Client.of(*it.split(":")) for it in given.other]
    clients += [Client.python()] if given.python else []
    clients += [Client.node(given.node.resolve())] if given.node else []
    asyncio.run(run(given.program.resolve(), clients, seconds))


if __name__ == "__main__":
    main()
