"""The operations of all clients, each with its begin, its end, and what it was told.

An operation without a response is neither done nor failed: its outcome is unknown. It is sent again
only where that is harmless, as with the same key of a call.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import http.client
import json
import pathlib
import random
import threading
import time
from typing import Any

from node import Node

# The time for a response. A stopped node gives none, in seconds.
RESPONSE_S = 8

# The pause before an operation is sent again, in seconds.
AGAIN_S = 0.05

# The share of the operations that are given up when all their tries were refused like that. The
# others are sent again.
LEFT = 0.5

# An operation is given up after this time: its node, or the database, was to be back by then.
GIVE_UP_S = 45

# The codes of a request that needs no answer any more, and of a session that another node owns.
WITHDRAWN = ("request-withdrawn", "request-expired", "request-superseded")
ELSEWHERE = ("owned", "fenced")


@dataclasses.dataclass
class Operation:
    """What a client asked for, and what it was told in the end."""

    kind: str
    request: dict[str, Any]
    begun: float
    """When it was first sent, on a clock that never runs backwards."""
    ended: float | None = None
    """When it was acknowledged. Without it, the outcome is unknown."""
    answer: dict[str, Any] = dataclasses.field(default_factory=dict)
    tries: int = 0
    refused: str | None = None
    """The code by which every try said that nothing was recorded, if it was given up then."""


class History:
    """A list of operations, which is also a file."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path, self.lock = path, threading.Lock()
        self.items: list[Operation] = []
        self.unexpected: list[str] = []
        """Responses that no operation should get."""
        self.refused: collections.Counter[str] = collections.Counter()
        """The number of refusals after which a request was sent again, by status and code."""

        self.is_split = threading.Event()
        """Set while some nodes read from a primary that was replaced, and miss what is new."""

    def begin(self, kind: str, request: dict[str, Any]) -> Operation:
        """Notes that an operation is about to be sent for the first time."""
        made = Operation(kind, request, time.monotonic())
        with self.lock:
            self.items.append(made)
        return made

    def acknowledged(self, operation: Operation, answer: dict[str, Any]) -> None:
        """Notes what a client was told."""
        operation.answer, operation.ended = answer, time.monotonic()

    def surprise(self, what: str) -> None:
        """Notes a response that no operation should get."""
        with self.lock:
            self.unexpected.append(what)

    def refusal(self, told: tuple[int, Any] | None) -> None:
        """Counts a refusal, or a missing response."""
        with self.lock:
            if told is None:
                self.refused["no response"] += 1
                return
            status, problem = told[0], told[1] or {}
            of_another = " of another node" if "owned by" in problem.get("detail", "") else ""
            self.refused[f"{status} {problem.get('code')}{of_another}"] += 1

    def write(self) -> None:
        """Writes the file."""
        lines = [json.dumps(dataclasses.asdict(it)) for it in self.items]
        self.path.write_text("\n".join(lines) + "\n")


class Client:
    """Sends requests to nodes at random. For one thread."""

    def __init__(self, nodes: list[Node], history: History, seed: int) -> None:
        self.nodes, self.history = nodes, history
        self.random = random.Random(seed)

    def ask(
        self, node: Node, method: str, path: str, body: object = None, key: str | None = None
    ) -> tuple[int, Any] | None:
        """Sends a request once. `None` says that there was no response."""
        headers = {"Authorization": f"Bearer {node.operator}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        content = None if body is None else json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=RESPONSE_S)
        with contextlib.closing(connection):
            try:
                connection.request(method, path, content, headers)
                response = connection.getresponse()
                text = response.read()
                return response.status, json.loads(text) if text else None
            except (OSError, http.client.HTTPException, ValueError):
                return None

    def settle(
        self,
        operation: Operation,
        path: str,
        body: object,
        *,
        key: str | None = None,
        nodes: list[Node] | None = None,
        refused: tuple[str, ...] = WITHDRAWN,
    ) -> bool:
        """Sends an operation to one node after another until it is acknowledged.

        A refusal that names the record which decided before is an acknowledgement, too. Returns
        false if the operation was given up, or is not possible any more, as the codes of `refused`
        say.
        """
        until, may_be_recorded = time.monotonic() + GIVE_UP_S, False
        while time.monotonic() < until:
            operation.tries += 1
            is_split = self.history.is_split.is_set()
            told = self.ask(self.random.choice(nodes or self.nodes), "POST", path, body, key)
            if told is None or told[0] >= 500 or told[0] == 429 or (is_split and told[0] == 404):
                self.history.refusal(told)
                may_be_recorded = True
                time.sleep(AGAIN_S)
                continue
            status, answer = told
            if status < 300 or answer["code"] == "already-answered":
                self.history.acknowledged(operation, answer)
                return True
            if answer["code"] in refused:
                return False
            if answer["code"] not in ELSEWHERE:
                self.history.surprise(f"{path} {body}: {told}")
                return False
            self.history.refusal(told)
            if not may_be_recorded and self.random.random() < LEFT:
                operation.refused = answer["code"]
                return False
            time.sleep(AGAIN_S)
        self.history.surprise(f"given up after {operation.tries} tries: {path} {body}: {told}")
        return False

    def look(self, path: str, nodes: list[Node] | None = None) -> Any | None:
        """Reads from a node at random. `None` if it does not answer."""
        is_split = self.history.is_split.is_set()
        told = self.ask(self.random.choice(nodes or self.nodes), "GET", path)
        if told is None or told[0] >= 500 or told[0] == 429 or (is_split and told[0] == 404):
            return None
        if told[0] not in (200, 202):
            self.history.surprise(f"GET {path}: {told}")
            return None
        return told[1]
