"""Kills and stops nodes of one journal in PostgreSQL, and looks for lost or double work.

Three processes of `recount serve` share a journal. In each round one of them opens a session and
makes a call that waits for an approver. Then that node is killed, stopped beyond its lease, or left
alone, and another one is asked to approve. A witness file outside of the journal notes each run of
the tool. In the end:

* every approval that was acknowledged is on record, and its call ran exactly once;
* a call whose node was lost goes on at another node within 5 s and a lease of 3 s;
* every session replays to the decisions on record, and the journal verifies.

`RECOUNT_TEST_POSTGRES` is the address of a server, as `.ci/postgres` sets it.

    nodes.py PROGRAM [--rounds 5] [--seed 1]
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import signal
import sys
import tempfile
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from service import PATIENCE_S, RECONNECT_S, Connection, Service

NODES = ("a", "b", "c")

LEASE_S = 3

# The longest time from the loss of a node to the approval at another one.
TAKEOVER_S = 5.0

CONFIG = """\
journal = "{journal}"
[postgres]
node = "{node}"
lease = "{lease}s"
[agents.shop]
tools = ["tools.toml"]
"""

# The witness has a line for each run: the idempotency key of the call.
TOOLS = """\
[[tool]]
name = "pay"
description = "Pays an order"
command = ["sh", "-c", 'cat >/dev/null; echo "$RECOUNT_IDEMPOTENCY_KEY" >>{witness}; echo "{{}}"']
confirm = "Pay this order?"
parameters = '{{"type": "object"}}'
"""


def started(program: pathlib.Path, directory: pathlib.Path, journal: str) -> dict[str, Service]:
    """Starts all nodes, each in a directory of its own."""
    witness = directory / "witness"
    witness.touch()
    nodes = {}
    for node in NODES:
        place = directory / node
        place.mkdir()
        files = {
            "recount.toml": CONFIG.format(journal=journal, node=node, lease=LEASE_S),
            "tools.toml": TOOLS.format(witness=witness),
        }
        nodes[node] = Service(program.resolve(), place, files)
        nodes[node].start()
    return nodes


def asked(node: Service) -> tuple[str, int, str]:
    """Makes a gated call in a new session. Returns the session, the call, and the request."""
    connection = Connection(node, node.operator)
    session = connection.open_session(key=str(uuid.uuid4()))
    path = f"/v1/sessions/{session}/calls"
    status, made = connection.persist("POST", path, {"tool": "pay", "args": {}}, str(uuid.uuid4()))
    assert status in (200, 202), (status, made)
    status, waiting = connection.persist("GET", f"/v1/pending?session={session}")
    assert status == 200, (status, waiting)
    return session, int(made["call"]), str(waiting["items"][0]["confirmation"]["request"])


def approve(node: Service, request: str) -> None:
    """Approves until the answer is on record."""
    connection = Connection(node, node.operator)
    path = f"/v1/requests/{request}/answer"
    while True:
        status, told = connection.persist("POST", path, {"confirmed": True})
        if status == 200:
            return
        assert status == 409 and told["code"] in ("owned", "fenced"), (status, told)


def ended(node: Service, session: str, call: int) -> str:
    """Waits for the outcome of a call."""
    connection = Connection(node, node.operator)
    for _ in range(6):
        path = f"/v1/sessions/{session}/calls/{call}?wait=10"
        status, told = connection.persist("GET", path)
        assert status in (200, 202), (status, told)
        if told.get("ended"):
            return str(told["ended"]["outcome"])
    raise AssertionError(f"the call did not end: {told}")


def not_ready(node: Service) -> None:
    """Waits until a node says that it is not ready."""
    connection = Connection(node, node.operator)
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        status, _ = connection.ask("GET", "/readyz")
        if status != 200:
            return
        time.sleep(RECONNECT_S)
    raise AssertionError("a node without a lease says that it is ready")


def play(nodes: dict[str, Service], fault: str, randomness: random.Random) -> tuple[str, float]:
    """Plays a round. Returns the outcome of the call, and the seconds until its approval."""
    owner, other = randomness.sample(NODES, 2)
    session, call, request = asked(nodes[owner])
    process = nodes[owner].process
    assert process is not None
    begun = time.monotonic()
    if fault == "kill":
        nodes[owner].kill()
    elif fault == "stop":
        process.send_signal(signal.SIGSTOP)
    approve(nodes[other], request)
    took = time.monotonic() - begun
    outcome = ended(nodes[other], session, call)
    if fault == "kill":
        nodes[owner].start()
    elif fault == "stop":
        # Its lease is over, so it must run nothing, and says that it cannot serve.
        process.send_signal(signal.SIGCONT)
        not_ready(nodes[owner])
        nodes[owner].kill()
        nodes[owner].start()
    return outcome, took


def main() -> None:
    """Plays the rounds, and compares what is on record with what the witness saw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    server = os.environ["RECOUNT_TEST_POSTGRES"]
    mark = "&" if "?" in server else "?"
    journal = f"{server}{mark}schema=nodes_{uuid.uuid4().hex}"
    randomness = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as directory:
        nodes = started(options.program, pathlib.Path(directory), journal)
        try:
            slowest = 0.0
            for number in range(options.rounds):
                fault = ("kill", "none", "stop")[number % 3]
                outcome, took = play(nodes, fault, randomness)
                assert outcome == "returned", (fault, outcome)
                slowest = max(slowest, took)
                print(f"round {number}: {fault}, approved after {took:.2f} s", flush=True)
            for node in nodes.values():
                code = node.stop()
                assert code == 0, f"a node ended with {code}"
        finally:
            for node in nodes.values():
                node.over.set()
                node.kill()
        runs = (pathlib.Path(directory) / "witness").read_text().split()
        assert len(runs) == len(set(runs)) == options.rounds, runs
        assert slowest < TAKEOVER_S, f"a takeover took {slowest:.2f} s"
        for command in (("replay", journal, "--json"), ("verify", journal)):
            done = nodes["a"].run(*command)
            assert done.returncode == 0, done.stdout + done.stderr
    print(f"{options.rounds} rounds, {len(runs)} runs, none double; slowest {slowest:.2f} s")


if __name__ == "__main__":
    main()
