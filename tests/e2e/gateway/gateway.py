"""A running `recount serve` with a gateway, and an approver who answers through the API."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from service import Connection, Down, Service, serving

# The time between two looks at what waits, in seconds.
POLL_S = 0.05

# A call that is held for longer than this is acknowledged. The approver needs less for any other.
HOLD_INLINE = "3s"

CONFIG = """\
journal = "journal"

[gateway]
listen = "127.0.0.1:{plain}"
tls_listen = "127.0.0.1:{tls}"
agent = "support"
upstream = "http://127.0.0.1:{vendor}"
hold_inline = "{hold_inline}"

[gateway.tls]
certificate = "gateway.pem"
key = "gateway-key.pem"

[agents.support]
tools = ["tools.toml"]
policies = "policies.toml"
"""

POLICIES = """\
[tools.refund]
confirm = "Refund this order?"

[tools.wipe]
confirm = "Wipe this order?"

[tools.transfer]
confirm = "Transfer this money?"
in_doubt = "ask"
"""

TOOLS = """\
[[tool]]
name = "server_time"
description = "Tells the time of the server"
command = ["sh", "-c", "cat >/dev/null; echo '{\\"time\\": \\"12:00\\"}'"]
in_doubt = "retry"
"""


def free_ports(count: int) -> list[int]:
    """Returns ports of this machine on which nothing listens."""
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [it.getsockname()[1] for it in sockets]


class Gateway:
    """A service with a gateway, at the same addresses after each start."""

    def __init__(self, service: Service, plain: int, tls: int) -> None:
        self.service, self.plain, self.tls = service, plain, tls
        self.authorities = service.directory / "ca.pem"
        """The certificates that its clients trust."""

    def approver(self) -> Connection:
        """Returns a connection to the API of a person who approves."""
        return Connection(self.service, self.service.operator)

    def pending(self) -> list[dict[str, Any]]:
        """Returns all that waits."""
        status, page = self.approver().persist("GET", "/v1/pending?limit=1000")
        assert status == 200, (status, page)
        found: list[dict[str, Any]] = page["items"]
        return found

    def decisions(self) -> list[dict[str, Any]]:
        """Returns the calls on record, of the audit report."""
        done = self.service.run("audit", "decisions", "journal", "--json")
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return [line for line in lines if line["row"] == "call"]


@contextlib.contextmanager
def gating(program: pathlib.Path, vendor: int, hold_inline: str = HOLD_INLINE) -> Iterator[Gateway]:
    """Serves a gateway in front of a vendor on this machine, as `serving` does."""
    plain, tls = free_ports(2)
    ports = {"plain": plain, "tls": tls, "vendor": vendor, "hold_inline": hold_inline}
    files = {
        "recount.toml": CONFIG.format(**ports),
        "policies.toml": POLICIES,
        "tools.toml": TOOLS,
    }
    # The service refuses a key that other users can read.
    os.umask(0o077)
    with tempfile.TemporaryDirectory() as temporary:
        made = pathlib.Path(temporary, "certificate")
        command = [str(program), "gateway", "dev-certificate", "--out", str(made)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        files |= {file.name: file.read_text() for file in made.iterdir()}
    with serving(program, files) as service:
        yield Gateway(service, plain, tls)


Decide = Callable[[dict[str, Any]], bool | dict[str, Any] | None]
"""Decides about a request: yes, no, an answer of another form, or not yet."""


def answer(gateway: Gateway, decide: Decide, ended: threading.Event) -> int:
    """Answers what waits until the end, over kills. Returns the number of answers on record."""
    connection, answered, done = gateway.approver(), 0, set[str]()
    while not ended.wait(POLL_S):
        try:
            status, page = connection.ask("GET", "/v1/pending?limit=1000")
        except Down:
            continue
        if status != 200:
            continue
        for item in page["items"]:
            asked = item.get("confirmation")
            if asked is None or asked["request"] in done:
                continue
            verdict = decide(asked)
            if verdict is None:
                continue
            path = f"/v1/requests/{asked['request']}/answer"
            body = {"confirmed": verdict} if isinstance(verdict, bool) else verdict
            with contextlib.suppress(Down):
                status, told = connection.ask("POST", path, body)
                # 409 and 410: it was answered before a kill, or was cancelled meanwhile. Or it
                # stays open, because the tools of the session are not known again yet.
                assert status in (200, 409, 410, 503), (status, told)
                if status != 503 and not told.get("leaves_open"):
                    done.add(asked["request"])
                    answered += status == 200
    return answered


@contextlib.contextmanager
def answering(gateway: Gateway, decide: Decide) -> Iterator[Future[int]]:
    """Has an approver beside the body, who is not done before it."""
    ended = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(answer, gateway, decide, ended)
        try:
            yield running
        finally:
            ended.set()
            # The cause of a failure of the body, if it has failed first.
            running.result()


def nothing_waits(gateway: Gateway, patience_s: float) -> None:
    """Waits until nothing waits any more."""
    until = time.monotonic() + patience_s
    while waiting := gateway.pending():
        assert time.monotonic() < until, f"still waiting: {json.dumps(waiting)[:2000]}"
        time.sleep(POLL_S)
