"""Kills `recount serve` again and again while clients run calls, and looks for lost or double work.

Each round makes calls of two client-run tools from several programs, and several workers claim and
run them. The service is killed with SIGKILL in the middle, and started again. A worker loses one
run in fifty, as if it had been killed, too. The workers note each run of a tool in the memory of
this script, which is the witness that the journal cannot influence. In the end:

* each call that a program made is on record once, and has ended;
* `pay`, which is not repeatable, ran at most once, and exactly once if its result is on record;
* `pack`, which is repeatable, ran at least once if its result is on record;
* each claim has a result, or its call ended as unknown, or ran again because it is repeatable;
* every session replays to the decisions on record, and the journal is sound.

    service_kills.py PROGRAM [--rounds 10] [--calls 200] [--seed 1]
"""

import argparse
import collections
import pathlib
import random
import tempfile
import threading
import time

from service import Connection, Down, Service

WORKERS = 6
PROGRAMS = 4
LEASE_MS = 2_000
# The share of the runs that are lost with their worker.
LOST = 0.02


class Witness:
    """The runs of each call's tool, by its key, outside of the journal."""

    def __init__(self):
        self.runs = collections.Counter()
        self.lock = threading.Lock()

    def ran(self, order):
        with self.lock:
            self.runs[order] += 1


def work(service, witness, ended, number):
    """Claims calls and runs them, until there is nothing left."""
    connection, made = Connection(service, service.client), 0
    randomness = random.Random(number)
    while not ended.is_set():
        made += 1
        claim = f"w{number}-{made}"
        body = {"claim": claim, "tools": ["pay", "pack"], "lease_ms": LEASE_MS, "wait": 1}
        status, claimed = connection.persist("POST", "/v1/claims", body)
        if status == 204:
            continue
        assert status == 200, (status, claimed)
        witness.ran(claimed["args"]["order"])
        if randomness.random() < LOST:
            continue
        path = f"/v1/sessions/{claimed['session']}/calls/{claimed['call']}/claim/finish"
        report = {"claim": claim, "attempt": claimed["attempt"], "result": {"by": claim}}
        # 409: the report was recorded before the kill, or the lease is over.
        status, told = connection.persist("POST", path, report)
        assert status in (200, 409), (status, told)


def call(service, session, orders, made):
    """Makes calls, each until it is on record."""
    connection = Connection(service, service.client)
    for order in orders:
        tool = "pay" if order.startswith("pay") else "pack"
        path, body = f"/v1/sessions/{session}/calls", {"tool": tool, "args": {"order": order}}
        status, answer = connection.persist("POST", path, body, key=order)
        assert status in (200, 202), (status, answer)
        made[order] = answer["call"]


def round_of(service, witness, number, calls, randomness):
    """One session with its calls, and one kill. Returns the session and its calls by key."""
    connection = Connection(service, service.client)
    status, opened = connection.persist(
        "POST", "/v1/sessions", {"agent": "shop"}, key=f"round-{number}"
    )
    assert status == 201, (status, opened)
    session, made, ended = opened["session"], {}, threading.Event()
    orders = [f"{'pay' if n % 2 else 'pack'}-{number}-{n}" for n in range(calls)]
    threads = [
        threading.Thread(target=call, args=(service, session, orders[n::PROGRAMS], made))
        for n in range(PROGRAMS)
    ]
    workers = [
        threading.Thread(target=work, args=(service, witness, ended, f"{number}-{n}"))
        for n in range(WORKERS)
    ]
    for thread in threads + workers:
        thread.daemon = True
        thread.start()
    time.sleep(randomness.uniform(0.02, 0.5))
    service.kill()
    service.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive(), "a program never got an answer"
    assert len(made) == calls, f"{calls - len(made)} calls are missing"
    outcomes = {}
    for order, at in made.items():
        outcomes[order] = outcome(connection, f"/v1/sessions/{session}/calls/{at}?wait=30")
    ended.set()
    for thread in workers:
        thread.join(timeout=60)
        assert not thread.is_alive(), "a worker never ended"
    return session, outcomes


def outcome(connection, path):
    """The end of a call; it is waited for over the end of the lease of a lost claim."""
    for _ in range(6):
        status, told = connection.persist("GET", path)
        assert status in (200, 202), (status, told)
        if told.get("ended"):
            return told["ended"]["outcome"]
    raise AssertionError(f"the call did not end: {told}")


def check(service, session, outcomes, witness):
    """Compares what is on record with what the witness saw."""
    counts = collections.Counter(outcomes.values())
    for order, end in outcomes.items():
        runs = witness.runs[order]
        if order.startswith("pay"):
            assert runs <= 1, f"{order} ran {runs} times"
        if end == "returned":
            assert runs >= 1, f"{order} has a result and never ran"
        else:
            assert end in ("unknown", "failed"), f"{order} ended as {end}"
            assert order.startswith("pay"), f"{order} is repeatable and ended as {end}"
    connection = Connection(service, service.operator)
    status, page = connection.ask("GET", f"/v1/sessions/{session}/calls?limit=1000")
    assert status == 200, (status, page)
    assert len(page["items"]) == len(outcomes), "a call is on record twice"
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    randomness, witness = random.Random(given.seed), Witness()
    total = collections.Counter()
    with tempfile.TemporaryDirectory() as directory:
        service = Service(given.program.resolve(), pathlib.Path(directory), 0)
        service.start()
        with service:
            for number in range(given.rounds):
                session, outcomes = round_of(service, witness, number, given.calls, randomness)
                total += check(service, session, outcomes, witness)
                verified = Connection(service, service.operator).ask("GET", f"/v1/sessions/{session}")
                assert verified[0] == 200, verified
            assert service.stop() == 0
            replayed = service.run("replay", "journal", "--json")
            assert replayed.returncode == 0, replayed.stdout + replayed.stderr
            checked = service.run("verify", "journal")
            assert checked.returncode == 0, checked.stdout + checked.stderr
    again = sum(runs - 1 for runs in witness.runs.values() if runs > 1)
    print(
        f"{given.rounds} kills, {given.rounds * given.calls} calls: {dict(total)}; "
        f"repeatable tools ran {again} times more"
    )


if __name__ == "__main__":
    main()
