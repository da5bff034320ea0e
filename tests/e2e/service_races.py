"""Several people answer one request at the same time, over HTTP and with commands.

In each round a call waits for an approver. Three clients answer over HTTP, and `recount approve`
and `recount deny` answer beside the service, all at once. Exactly one of them decides. Each of the
others is told by whom and when it was decided, or that the call is over, and the record names the
same person. Every third round the five race with the end of the call, which an operator cancels.

    service_races.py PROGRAM [--rounds 200]
"""

import argparse
import collections
import json
import pathlib
import random
import tempfile
import threading
import time

from service import Connection, Service

CLIENTS = 3
HEAD_START_S = 0.05


def waiting(connection, session, number):
    """Makes a call that waits, and returns its seq and its request."""
    status, told = connection.ask(
        "POST",
        f"/v1/sessions/{session}/calls",
        {"tool": "ask", "args": {"n": number}},
        key=f"ask-{number}",
    )
    assert status == 202, (status, told)
    return told["call"], told["request"]


def over_http(service, request, number, told, start):
    """Answers as one of the clients; every second one denies."""
    answer = {"confirmed": number % 2 == 0, "reason": f"client {number}"}
    start.wait()
    # A command takes some milliseconds to start. Without a delay it would never be the first.
    time.sleep(random.uniform(0, HEAD_START_S))
    connection = Connection(service, service.people[number])
    told[f"client {number}"] = connection.ask("POST", f"/v1/requests/{request}/answer", answer)


def by_command(service, verb, request, told, start):
    """Answers with a command beside the service."""
    start.wait()
    told[verb] = service.run(verb, "journal", request, "--json")


def cancelled(service, session, call, told, start):
    """Cancels the call, as an operator."""
    start.wait()
    path = f"/v1/sessions/{session}/calls/{call}/cancel"
    told["cancel"] = Connection(service, service.operator).ask("POST", path, {})


def race(service, session, number):
    """Has all of them answer at once, and returns what each was told."""
    connection = Connection(service, service.operator)
    call, request = waiting(connection, session, number)
    told, parts = {}, []
    contenders = CLIENTS + 2 + (number % 3 == 0)
    start = threading.Barrier(contenders)
    for client in range(CLIENTS):
        parts.append((over_http, (service, request, client, told, start)))
    for verb in ("approve", "deny"):
        parts.append((by_command, (service, verb, request, told, start)))
    if number % 3 == 0:
        parts.append((cancelled, (service, session, call, told, start)))
    threads = [threading.Thread(target=part, args=given) for part, given in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive(), "an answer was never answered"
    assert len(told) == contenders, told.keys()
    return call, told


def winners_of(told):
    """Those who decided, after checking that each of the others was told so."""
    winners, decided = [], {"already-answered", "request-withdrawn"}
    for name, outcome in told.items():
        if name in ("approve", "deny"):
            if outcome.returncode == 0:
                winners.append((name, json.loads(outcome.stdout)["seq"]))
                continue
            assert outcome.returncode == 3, (outcome.returncode, outcome.stderr)
            assert any(f"error[{code}]" in outcome.stderr for code in decided), outcome.stderr
            continue
        status, answer = outcome
        if status == 200:
            winners.append((name, answer["seq"]))
            continue
        if name == "cancel":
            assert status == 409, outcome
            continue
        assert status in (409, 410) and answer["code"] in decided, outcome
        if answer["code"] == "already-answered":
            assert answer["by"]["name"] and answer["at"] and answer["at_us"], answer
    return winners


def check(connection, session, call, told):
    """Compares the winner with the record, and what the others were told with both."""
    # A call that was approved first may still be cancelled, since no client runs it.
    winners = [it for it in winners_of(told) if it[0] != "cancel"]
    cancelled = told.get("cancel", (0, None))[0] == 200
    assert len(winners) == 1 or (cancelled and not winners), (winners, told)
    if not winners:
        return "cancel"
    name, at = winners[0]
    status, page = connection.ask("GET", f"/v1/sessions/{session}/records?from={at}&limit=1")
    assert status == 200 and page["items"], (status, page)
    event = page["items"][0]
    assert "confirmation_answered" in json.dumps(event), event
    for other, outcome in told.items():
        if isinstance(outcome, tuple) and outcome[0] == 409 and other != "cancel":
            assert outcome[1]["at"] == at, f"{other} was told of seq {outcome[1]['at']}, not {at}"
    return name


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as directory:
        service = Service(given.program.resolve(), pathlib.Path(directory), 0)
        service.people = [service.token(f"person {n}", "approver") for n in range(CLIENTS)]
        service.start()
        with service:
            connection, session = Connection(service, service.operator), None
            for number in range(given.rounds):
                if number % 100 == 0:
                    status, opened = connection.ask("POST", "/v1/sessions", {"agent": "shop"})
                    assert status == 201, (status, opened)
                    session = opened["session"]
                call, told = race(service, session, number)
                counts[check(connection, session, call, told)] += 1
            assert service.stop() == 0
            replayed = service.run("replay", "journal")
            assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    print(f"{given.rounds} races, decided by: {dict(counts)}")


if __name__ == "__main__":
    main()
