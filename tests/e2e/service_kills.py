"""Kills `recount serve` again and again while clients run calls, and looks for lost or double work.

Each round makes calls of two client-run tools from several programs, in several sessions, and
several workers claim and run them. The service is killed with SIGKILL in the middle, and started
again. A worker loses one run in fifty, as if it had been killed, too. The workers note each run of
a tool in the memory of this script, which is the witness that the journal cannot influence. In the
end:

* each call that a program made is on record once, and has ended;
* `pay`, which is not repeatable, ran at most once, and exactly once if its result is on record;
* `pack`, which is repeatable, ran at least once if its result is on record;
* each claim has a result, or its call ended as unknown, or ran again because it is repeatable;
* every session replays to the decisions on record, and the journal is sound.

    service_kills.py PROGRAM [--rounds 10] [--calls 200] [--seed 1]
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import random
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from service import PATIENCE_S, Connection, Service, serving

WORKERS = 6
PROGRAMS = 4
SESSIONS = 4

# A lost run is found out after a lease, so each round takes at least as long.
LEASE_MS = 1_000

# The outcomes with a result. It is supplied if the report came after the end of the lease.
WITH_RESULT = ("returned", "supplied")

# The share of the runs that are lost with their worker.
LOST = 0.02


class Witness:
    """The runs of each call's tool, by its key, outside of the journal."""

    def __init__(self) -> None:
        self.runs: collections.Counter[str] = collections.Counter()
        self.lock = threading.Lock()

    def ran(self, order: str) -> None:
        """Notes a run."""
        with self.lock:
            self.runs[order] += 1


@dataclasses.dataclass(frozen=True)
class Made:
    """A call that a program made."""

    order: str
    """Its key, which begins with the name of its tool."""
    session: str
    call: int


def work(service: Service, witness: Witness, ended: threading.Event, number: int) -> None:
    """Claims calls and runs them until the end of the script."""
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


def make_calls(service: Service, orders: list[tuple[str, str]]) -> list[Made]:
    """Makes calls, given as session and order, each until it is on record."""
    connection, made = Connection(service, service.client), []
    for session, order in orders:
        body = {"tool": order.partition("-")[0], "args": {"order": order}}
        path = f"/v1/sessions/{session}/calls"
        status, answer = connection.persist("POST", path, body, key=order)
        assert status in (200, 202), (status, answer)
        made.append(Made(order, session, answer["call"]))
    return made


def run_round(
    service: Service, number: int, calls: int, randomness: random.Random
) -> dict[Made, str]:
    """Makes calls in new sessions, with one kill. Returns the outcome of each call."""
    connection = Connection(service, service.client)
    sessions = [connection.open_session(key=f"round-{number}-{n}") for n in range(SESSIONS)]
    # Each program makes calls of both tools in every session.
    orders = []
    for n in range(calls):
        tool = ("pay", "pack")[n // PROGRAMS // SESSIONS % 2]
        orders.append((sessions[n // PROGRAMS % SESSIONS], f"{tool}-{number}-{n}"))
    with ThreadPoolExecutor(PROGRAMS) as programs:
        making = [
            programs.submit(make_calls, service, orders[n::PROGRAMS]) for n in range(PROGRAMS)
        ]
        time.sleep(randomness.uniform(0.02, 0.5))
        service.kill()
        service.start()
    made = [it for part in making for it in part.result()]
    assert len(made) == calls, f"{calls - len(made)} calls are missing"
    return {it: outcome_of(connection, it) for it in made}


def outcome_of(connection: Connection, made: Made) -> str:
    """Returns the outcome of a call, also of one whose worker is lost and whose lease must end."""
    path = f"/v1/sessions/{made.session}/calls/{made.call}?wait=30"
    for _ in range(6):
        status, told = connection.persist("GET", path)
        assert status in (200, 202), (status, told)
        if told.get("ended"):
            return str(told["ended"]["outcome"])
    raise AssertionError(f"the call did not end: {told}")


def check_round(service: Service, outcomes: dict[Made, str], witness: Witness) -> None:
    """Compares what is on record with what the witness saw."""
    for made, outcome in outcomes.items():
        order, runs = made.order, witness.runs[made.order]
        if outcome in WITH_RESULT:
            assert runs >= 1, f"{order} has a result and never ran"
        else:
            assert outcome in ("unknown", "failed"), f"{order} ended as {outcome}"
            assert order.startswith("pay"), f"{order} is repeatable and ended as {outcome}"
    connection = Connection(service, service.operator)
    on_record = 0
    for session in {it.session for it in outcomes}:
        status, page = connection.ask("GET", f"/v1/sessions/{session}/calls?limit=1000")
        assert status == 200, (status, page)
        on_record += len(page["items"])
    assert on_record == len(outcomes), f"{on_record} calls on record, {len(outcomes)} made"


def check_runs(witness: Witness) -> int:
    """Checks that no payment ran twice. Returns the number of repeated runs of the others."""
    repeated = {order: runs for order, runs in witness.runs.items() if runs > 1}
    twice = [order for order in repeated if order.startswith("pay")]
    assert not twice, f"ran more than once: {twice}"
    return sum(repeated.values()) - len(repeated)


def main() -> None:
    """Runs the rounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    randomness, witness, ended = random.Random(given.seed), Witness(), threading.Event()
    total: collections.Counter[str] = collections.Counter()
    with ThreadPoolExecutor(WORKERS) as pool, serving(given.program) as service:
        workers: list[Future[None]] = [
            pool.submit(work, service, witness, ended, number) for number in range(WORKERS)
        ]
        for number in range(given.rounds):
            outcomes = run_round(service, number, given.calls, randomness)
            check_round(service, outcomes, witness)
            total.update(outcomes.values())
        ended.set()
        for worker in workers:
            worker.result(PATIENCE_S)
    again = check_runs(witness)
    print(
        f"{given.rounds} kills, {given.rounds * given.calls} calls: {dict(total)}; "
        f"repeatable tools ran {again} times more"
    )


if __name__ == "__main__":
    main()
