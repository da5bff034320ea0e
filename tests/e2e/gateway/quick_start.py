"""Plays the quick start of docs/gateway.md as it is written, but for the ports and the browser.

    quick_start.py PROGRAM

It takes the files, the commands and the expected output from the page. It needs google-genai.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[3]
PAGE = (ROOT / "docs/gateway.md").read_text()
SCRIPT = ROOT / "fixtures/scripts/gateway-quick-start.jsonl"

# The ports of the page: the model, and the gateway.
VENDOR, GATEWAY = "8787", "7879"

# The time between two looks at what waits, in seconds.
POLL_S = 0.05

# An expired limit is a failure, so it is long, in seconds.
PATIENCE_S = 60


def section() -> str:
    """Returns the quick start of the page."""
    return PAGE.split("\n## Quick start\n")[1].split("\n## ")[0]


def blocks(language: str) -> list[str]:
    """Returns the blocks of the quick start in a language."""
    return re.findall(rf"```{language}\n(.*?)```", section(), re.DOTALL)


def commands() -> list[list[str]]:
    """Returns the commands that start the model and the gateway, each as its words."""
    (block,) = blocks("sh")
    lines = block.replace("\\\n", " ").splitlines()
    return [shlex.split(line.removesuffix("&")) for line in lines]


def expected() -> tuple[list[str], list[str]]:
    """Returns what the client prints for an approver in time, and for a slow one.

    These are the console blocks without the commands in them.
    """
    begun, approved, late = blocks("console")
    begun = "".join(line for line in begun.splitlines(True) if not line.startswith("$ "))
    return (begun + approved).splitlines(), (begun + late).splitlines()


def free_port() -> str:
    """Returns a port of this machine on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return str(port)


@contextlib.contextmanager
def running(command: list[str], port: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a program until the end of the body. It must listen on this port."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(port))):
                break
            assert process.poll() is None and time.monotonic() < until, command
            time.sleep(POLL_S)
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def decide(program: str, verdict: str) -> None:
    """Waits for the held call, and answers it."""
    until = time.monotonic() + PATIENCE_S
    while True:
        told = subprocess.check_output([program, "pending", "recount-journal", "--json"])
        if waiting := [json.loads(line) for line in told.splitlines()]:
            break
        assert time.monotonic() < until, "no call waits"
        time.sleep(POLL_S)
    (request,) = [it["request"] for it in waiting]
    answer = [program, verdict, "recount-journal", request]
    subprocess.run(answer, check=True, stdout=subprocess.DEVNULL)


def client(program: str, verdict: str, wanted: list[str], before: int = 0) -> None:
    """Runs the client of the page, and answers its held call once it has printed `before` lines.

    It must print the lines that are wanted, and no other.
    """
    trusted = {**os.environ, "SSL_CERT_FILE": "recount-certificate/ca.pem"}
    command = [sys.executable, "client.py"]
    with subprocess.Popen(command, env=trusted, stdout=subprocess.PIPE, text=True) as process:
        overdue = threading.Timer(PATIENCE_S, process.kill)
        overdue.start()
        try:
            assert process.stdout is not None
            printed = [process.stdout.readline() for _ in range(before)]
            decide(program, verdict)
            printed += [process.stdout.readline() for _ in wanted[before:]]
        finally:
            overdue.cancel()
            process.kill()
        printed += process.stdout
    told = [line.rstrip() for line in printed]
    assert told == wanted, (told, wanted)


def main() -> None:
    """Plays the page in a directory of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    program = str(parser.parse_args().program.resolve())
    vendor, gateway = free_port(), free_port()
    approved, late = expected()
    certify, simulate, serve = (
        [program, *(word.replace(VENDOR, vendor) for word in words[1:])] for words in commands()
    )
    simulate += ["--listen", f"127.0.0.1:{vendor}"]
    serve += ["--listen", f"127.0.0.1:{gateway}", "--api-listen", "127.0.0.1:0"]
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        shutil.copy(SCRIPT, ".")
        policies = blocks("toml")[0]
        pathlib.Path("policies.toml").write_text(policies)
        pathlib.Path("client.py").write_text(blocks("python")[0].replace(GATEWAY, gateway))
        subprocess.run(certify, check=True, stdout=subprocess.DEVNULL)
        with running(simulate, vendor), running(serve, gateway):
            client(program, "approve", approved)
            client(program, "deny", [it for it in approved if not it.startswith("running refund")])
        # An approver who takes longer than the page allows, for a reader who waits less.
        assert policies.count('"1m"') == 1, policies
        pathlib.Path("policies.toml").write_text(policies.replace('"1m"', '"1s"'))
        with running(simulate, vendor), running(serve, gateway):
            told_before = late.index("model: The refund call has an answer.") + 1
            client(program, "approve", late, told_before)
    print("the quick start is as the page says")


if __name__ == "__main__":
    main()
