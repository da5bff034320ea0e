"""A mixed load on all nodes: sessions, calls of every kind of tool, answers, and reads.

Each operation goes to a node at random, so a session is called, approved and read at nodes that do
not own it.
"""

from __future__ import annotations

import collections
import json
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from history import Client, History
from node import Node

# The threads that call, that answer, and that read.
CALLERS = 8
DECIDERS = 2
READERS = 1

# The sessions that are in use at the same time, and the calls after which one is replaced.
SESSIONS = 12
CALLS_PER_SESSION = 20

# The longest pauses of a caller, a decider and a reader, in seconds.
CALL_S = 0.1
DECIDE_S = 0.05
READ_S = 0.1

# What a person says about a call that was cut off, and how often.
IN_DOUBT: list[dict[str, Any]] = [
    {"confirmed": True},
    {"found": {"done": {"receipt": 17}}},
    {"found": {"failed": "the bank knows nothing of it"}},
]

# One gated call of so many is denied.
DENIED_ONE_OF = 8


class Sessions:
    """The sessions in use, shared by all callers."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.uses: collections.Counter[str] = collections.Counter()

    def take(self, randomness: random.Random) -> str | None:
        """Returns a session for a call. `None` if another one should be opened."""
        with self.lock:
            if len(self.uses) < SESSIONS:
                return None
            session = randomness.choice(list(self.uses))
            self.uses[session] += 1
            if self.uses[session] >= CALLS_PER_SESSION:
                del self.uses[session]
            return session

    def add(self, session: str) -> None:
        """Adds a new session."""
        with self.lock:
            self.uses[session] = 0

    def some(self, randomness: random.Random) -> str | None:
        """Returns a session to look at."""
        with self.lock:
            return randomness.choice(list(self.uses)) if self.uses else None


class Load:
    """The threads of the load."""

    def __init__(
        self,
        nodes: list[Node],
        history: History,
        tools: dict[str, int],
        seed: int,
        further: list[Callable[[Client], None]],
    ) -> None:
        self.nodes, self.history, self.seed = nodes, history, seed
        self.tools = [name for name, weight in tools.items() for _ in range(weight)]
        self.sessions = Sessions()
        self.is_quiet, self.over = threading.Event(), threading.Event()
        self.failures: list[BaseException] = []
        self.shown: dict[tuple[str, int], str] = {}
        """Each record that a reader saw, as canonical JSON."""
        own = [*[self.call] * CALLERS, *[self.decide] * DECIDERS, *[self.read] * READERS]
        jobs: list[Callable[[Client], None]] = [*own, *further]
        self.threads = [
            threading.Thread(target=self._run, args=(job, seed * 1000 + number))
            for number, job in enumerate(jobs)
        ]
        for thread in self.threads:
            thread.start()

    def quiet(self) -> None:
        """Makes no further calls. Answers go on."""
        self.is_quiet.set()
        for thread in self.threads[:CALLERS]:
            thread.join()

    def close(self) -> None:
        """Ends all threads, and raises what failed in them."""
        self.is_quiet.set()
        self.over.set()
        for thread in self.threads:
            thread.join()
        if self.failures:
            raise self.failures[0]

    def _run(self, job: Callable[[Client], None], seed: int) -> None:
        client = Client(self.nodes, self.history, seed)
        try:
            while not self.over.is_set() and not (job == self.call and self.is_quiet.is_set()):
                job(client)
        except BaseException as error:  # noqa: BLE001
            self.failures.append(error)

    def call(self, client: Client) -> None:
        """Opens a session, or makes a call in one."""
        time.sleep(client.random.uniform(0, CALL_S))
        session = self.sessions.take(client.random)
        if session is None:
            opened = open_session(client)
            if opened is not None:
                self.sessions.add(opened)
            return
        tool = client.random.choice(self.tools)
        call = make_call(client, session, tool)
        if call is not None and client.random.random() < 0.3:
            wait_for(client, session, call, 2)

    def decide(self, client: Client) -> None:
        """Answers a request that waits."""
        time.sleep(client.random.uniform(0, DECIDE_S))
        page = client.look("/v1/pending?limit=100")
        listed = [it["confirmation"] for it in page["items"]] if page else []
        # A fault answers its own.
        waiting = [it for it in listed if it["tool"] in self.tools]
        if waiting:
            answer_request(client, client.random.choice(waiting))

    def read(self, client: Client) -> None:
        """Reads a session, whose records must stay what they were."""
        time.sleep(client.random.uniform(0, READ_S))
        session = self.sessions.some(client.random)
        page = session and client.look(f"/v1/sessions/{session}/records?limit=1000")
        for item in page["items"] if page else []:
            record = item["record"]
            self.saw((str(session), int(record["seq"])), json.dumps(record, sort_keys=True))

    def saw(self, place: tuple[str, int], record: str) -> None:
        """Notes a record that a reader was shown."""
        if self.shown.setdefault(place, record) != record:
            self.history.surprise(f"record {place} was {self.shown[place]}, is {record}")


def open_session(client: Client, nodes: list[Node] | None = None) -> str | None:
    """Opens a session. A try without a response may have opened another one."""
    operation = client.history.begin("open", {"agent": "shop"})
    done = client.settle(operation, "/v1/sessions", operation.request, nodes=nodes)
    return str(operation.answer["session"]) if done else None


def make_call(
    client: Client, session: str, tool: str, nodes: list[Node] | None = None
) -> int | None:
    """Makes a call, with a key that makes it the same call at every node."""
    order = f"{tool}-{client.random.getrandbits(64):x}"
    request = {"session": session, "tool": tool, "order": order}
    operation = client.history.begin("call", request)
    body = {"tool": tool, "args": {"order": order}}
    path = f"/v1/sessions/{session}/calls"
    done = client.settle(operation, path, body, key=order, nodes=nodes)
    return int(operation.answer["call"]) if done else None


def answer_request(
    client: Client, waiting: dict[str, Any], nodes: list[Node] | None = None
) -> None:
    """Answers as a person would: about a gate, or a call that was cut off."""
    if waiting["about"] == "in_doubt":
        body = client.random.choice(IN_DOUBT)
    else:
        # The reason tells this answer from one of another person.
        reason = f"{client.random.getrandbits(64):x}"
        body = {"confirmed": client.random.randrange(DENIED_ONE_OF) != 0, "reason": reason}
    answer(client, waiting, body, nodes)


def answer(
    client: Client,
    waiting: dict[str, Any],
    body: dict[str, Any],
    nodes: list[Node] | None = None,
) -> None:
    """Gives an answer to a request that `pending` listed."""
    asked = {name: waiting[name] for name in ("session", "call", "seq", "about")}
    operation = client.history.begin("answer", {**asked, "body": body})
    client.settle(operation, f"/v1/requests/{waiting['request']}/answer", body, nodes=nodes)


def wait_for(
    client: Client, session: str, call: int, seconds: int, nodes: list[Node] | None = None
) -> bool:
    """Waits for the end of a call, and notes what a node says of it."""
    operation = client.history.begin("wait", {"session": session, "call": call})
    told = client.look(f"/v1/sessions/{session}/calls/{call}?wait={seconds}", nodes)
    if told is None or not told["ended"]:
        return False
    client.history.acknowledged(operation, told["ended"])
    return True
