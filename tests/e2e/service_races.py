"""Several people answer one request at the same time, over HTTP and with commands.

In each round a call waits for an approver. Three clients answer over HTTP, and `recount approve`
and `recount deny` answer beside the service, all at once. Exactly one of them decides. Each of the
others is told by whom and when it was decided, or that the call is over, and the record names the
same person. Every third round the five race with the end of the call, which an operator cancels.

    service_races.py PROGRAM [--rounds 200]
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import pathlib
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from service import PATIENCE_S, Connection, Service, serving

CLIENTS = 3
HEAD_START_S = 0.05

# A session's later calls are slower, since each answer beside the service reads the whole session.
ROUNDS_PER_SESSION = 100

# The codes with which a late answer is refused.
LATE = ("already-answered", "request-withdrawn")

CANCEL = "cancel"


@dataclasses.dataclass(frozen=True)
class Waiting:
    """A call that waits for an approver."""

    session: str
    call: int
    request: str


@dataclasses.dataclass(frozen=True)
class Reply:
    """The reply to one of the contenders."""

    won_at: int | None
    """The seq of the answer, if it was recorded."""
    decided_at: int | None = None
    """The seq of the earlier answer, if the refusal names it."""


Contender = Callable[[], Reply]


def waiting_call(connection: Connection, session: str, number: int) -> Waiting:
    """Makes a call that waits for an approver."""
    body = {"tool": "ask", "args": {"n": number}}
    path = f"/v1/sessions/{session}/calls"
    status, told = connection.ask("POST", path, body, key=f"ask-{number}")
    assert status == 202, (status, told)
    return Waiting(session, told["call"], told["request"])


def over_http(connection: Connection, waiting: Waiting, number: int) -> Reply:
    """Answers as one of the clients; every second one denies."""
    # A command takes some milliseconds to start. Without a delay it would never be the first.
    time.sleep(random.uniform(0, HEAD_START_S))
    answer = {"confirmed": number % 2 == 0, "reason": f"client {number}"}
    status, told = connection.ask("POST", f"/v1/requests/{waiting.request}/answer", answer)
    if status == 200:
        return Reply(told["seq"])
    assert status in (409, 410), (status, told)
    assert told["code"] in LATE, (status, told)
    if told["code"] == "already-answered":
        assert told["by"]["name"], told
        assert told["at"], told
        assert told["at_us"], told
    return Reply(None, told["at"] if status == 409 else None)


def by_command(service: Service, verb: str, waiting: Waiting) -> Reply:
    """Answers with a command beside the service."""
    done = service.run(verb, "journal", waiting.request, "--json")
    if done.returncode == 0:
        return Reply(json.loads(done.stdout)["seq"])
    assert done.returncode == 3, (done.returncode, done.stderr)
    assert any(f"error[{code}]" in done.stderr for code in LATE), done.stderr
    return Reply(None)


def cancelled(connection: Connection, waiting: Waiting) -> Reply:
    """Cancels the call, as an operator."""
    path = f"/v1/sessions/{waiting.session}/calls/{waiting.call}/cancel"
    status, told = connection.ask("POST", path, {})
    assert status in (200, 409), (status, told)
    return Reply(told["seq"] if status == 200 else None)


def race(contenders: dict[str, Contender]) -> dict[str, Reply]:
    """Has all contenders act at once, and returns the reply to each."""
    start = threading.Barrier(len(contenders))

    def after_start(contender: Contender) -> Reply:
        start.wait()
        return contender()

    with ThreadPoolExecutor(len(contenders)) as pool:
        running = {name: pool.submit(after_start, it) for name, it in contenders.items()}
        return {name: it.result(PATIENCE_S) for name, it in running.items()}


def check(connection: Connection, waiting: Waiting, replies: dict[str, Reply]) -> str:
    """Compares the winner with the record and with the other replies. Returns its name."""
    # A call that was approved first may still be cancelled, since no client runs it.
    winners = {
        name: it.won_at for name, it in replies.items() if it.won_at is not None and name != CANCEL
    }
    if not winners:
        assert CANCEL in replies, replies
        assert replies[CANCEL].won_at is not None, replies
        return CANCEL
    assert len(winners) == 1, replies
    [(name, at)] = winners.items()
    path = f"/v1/sessions/{waiting.session}/records?from={at}&limit=1"
    status, page = connection.ask("GET", path)
    assert status == 200, (status, page)
    [record] = page["items"]
    assert "confirmation_answered" in json.dumps(record), record
    for other, reply in replies.items():
        assert reply.decided_at in (None, at), f"{other} was told of {reply.decided_at}, not {at}"
    return name


def contenders_of(
    service: Service, people: list[Connection], operator: Connection, waiting: Waiting, number: int
) -> dict[str, Contender]:
    """Returns those who answer in a round, by their names."""
    found: dict[str, Contender] = {}
    for client, person in enumerate(people):
        found[f"client {client}"] = partial(over_http, person, waiting, client)
    for verb in ("approve", "deny"):
        found[verb] = partial(by_command, service, verb, waiting)
    if number % 3 == 0:
        found[CANCEL] = partial(cancelled, operator, waiting)
    return found


def main() -> None:
    """Runs the rounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    with serving(given.program) as service:
        people = [
            Connection(service, service.token(f"person {n}", "approver")) for n in range(CLIENTS)
        ]
        operator, session = Connection(service, service.operator), ""
        for number in range(given.rounds):
            if number % ROUNDS_PER_SESSION == 0:
                session = operator.open_session()
            waiting = waiting_call(operator, session, number)
            replies = race(contenders_of(service, people, operator, waiting, number))
            counts[check(operator, waiting, replies)] += 1
    print(f"{given.rounds} races, decided by: {dict(counts)}")


if __name__ == "__main__":
    main()
