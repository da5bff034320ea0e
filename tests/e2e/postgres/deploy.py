"""Deploys a new version to three nodes, one after another, while approvals wait and sessions step.

Calls wait for an approver in sessions of their own. Other sessions make one call after another,
each as soon as the last has ended. Meanwhile each node is ended with SIGTERM, and started again
with another version: another copy of the program, and a catalog with a further tool. Some of the
approvals are given during the deploy, the others behind it. All requests go to nodes at random.
In the end:

* each call that waited has run exactly once, and the last ones under the new version;
* each step has returned, none was cut off, and none ran twice;
* sessions were served by both versions;
* all that was acknowledged is on record, every session replays, and the journal verifies;
* no step took longer than a bound.

`RECOUNT_TEST_POSTGRES` is the address of a server, as `.ci/postgres` sets it.

    deploy.py PROGRAM [--next PROGRAM] [--approvals 1000] [--sessions 200] [--seed 1]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from checker import Call, Evidence, Journal, calls_of, check
from history import Client, History
from load import answer, make_call, open_session, wait_for
from node import Node
from witness import Witness, tools_file

NODES = ("a", "b", "c")

# The catalogs of both versions. The contract of what waits is the same.
FORMER, LATTER = ("pay", "step"), ("pay", "step", "pack")

# Ample: no lease is to end in a deploy, also on a machine that is busy.
LEASE_S = 20

# The threads that open, approve and step. Each of the last has several sessions.
OPENERS = 8
STEPPERS = 20

# The share of the approvals that is given during the deploy.
DURING = 0.2

# The time of steps before the deploy and after it, in seconds, and the time for all calls to end.
STEADY_S = 2.0
END_S = 120

# The longest time of a step, with its run of up to 0.3 s.
STEP_S = 10.0


class Stage:
    """The nodes, and what is asked of them."""

    def __init__(self, nodes: list[Node], history: History, seed: int) -> None:
        self.nodes, self.history, self.seed = nodes, history, seed
        self.over = threading.Event()
        self.steps: list[tuple[float, float]] = []
        """The begin of each step, and the time that it took."""
        self.last: dict[str, float] = {}
        """The begin of the last step of each session that has returned."""

    def client(self, number: int) -> Client:
        """Returns a client for a thread."""
        return Client(self.nodes, self.history, self.seed * 1000 + number)

    def waiting(self, number: int) -> dict[str, Any]:
        """Makes a call that waits in a session of its own. Returns its request."""
        client = self.client(number)
        session = open_session(client)
        assert session, "no session could be opened"
        call = make_call(client, session, "pay")
        assert call, "no call could be made"
        while True:
            page = client.look(f"/v1/pending?session={session}")
            if page and page["items"]:
                return dict(page["items"][0]["confirmation"])

    def step(self, number: int, sessions: list[str]) -> None:
        """Makes one call after another, in each session in turn."""
        client = self.client(100_000 + number)
        while not self.over.is_set():
            for session in sessions:
                begun = time.monotonic()
                call = make_call(client, session, "step")
                assert call, "no step could be made"
                while not wait_for(client, session, call, 5):
                    took = time.monotonic() - begun
                    assert took < END_S, f"step {call} of {session} does not end"
                self.steps.append((begun, time.monotonic() - begun))
                self.last[session] = begun

    def approve(self, number: int, waiting: dict[str, Any]) -> None:
        """Approves a call."""
        answer(self.client(200_000 + number), waiting, {"confirmed": True})


def deploy(nodes: list[Node], program: pathlib.Path, tools: str) -> list[float]:
    """Replaces one node after another. Returns the time that each took to end."""
    ends = []
    for node in nodes:
        begun = time.monotonic()
        code = node.stop()
        assert code == 0, f"node {node.name} ended with {code}"
        ends.append(time.monotonic() - begun)
        node.program = program
        (node.directory / "tools.toml").write_text(tools)
        assert node.begin(), f"node {node.name} did not start"
        time.sleep(STEADY_S / 2)
    return ends


def play(stage: Stage, options: argparse.Namespace, latter: tuple[pathlib.Path, str]) -> None:
    """Opens everything, deploys, and approves."""
    begun = time.monotonic()
    with ThreadPoolExecutor(OPENERS) as pool:
        opened = pool.map(lambda _: open_session(stage.client(0)), range(options.sessions))
        sessions = [str(it) for it in opened]
        waiting = list(pool.map(stage.waiting, range(options.approvals)))
    print(f"{len(waiting)} calls wait after {time.monotonic() - begun:.1f} s", flush=True)
    randomness = random.Random(stage.seed)
    randomness.shuffle(waiting)
    stepped = 0.0
    early = int(len(waiting) * DURING)
    with ThreadPoolExecutor(STEPPERS + OPENERS) as pool:
        jobs = [
            pool.submit(stage.step, number, sessions[number::STEPPERS])
            for number in range(min(STEPPERS, len(sessions)))
        ]
        with over_in_the_end(stage):
            time.sleep(STEADY_S)
            deploying = time.monotonic()
            jobs += [pool.submit(give, stage, waiting[:early])]
            ends = deploy(stage.nodes, *latter)
            took = time.monotonic() - deploying
            while stepped < took + deploying:
                assert time.monotonic() < deploying + took + END_S, "a session does not step"
                time.sleep(STEADY_S)
                stepped = min(stage.last.get(session, 0.0) for session in sessions)
        for job in jobs:
            job.result()
    report(stage, deploying, took, ends)
    with ThreadPoolExecutor(OPENERS) as pool:
        list(pool.map(stage.approve, range(early, len(waiting)), waiting[early:]))


@contextlib.contextmanager
def over_in_the_end(stage: Stage) -> Any:
    """Ends the steps after the body, also if it fails."""
    try:
        yield
    finally:
        stage.over.set()


def give(stage: Stage, waiting: list[dict[str, Any]]) -> None:
    """Approves one call after another."""
    for number, request in enumerate(waiting):
        stage.approve(number, request)


def report(stage: Stage, begun: float, took: float, ends: list[float]) -> None:
    """Prints how long steps took, and checks the longest one."""
    usual = sorted(it for at, it in stage.steps if at < begun)
    during = sorted(it for at, it in stage.steps if begun <= at < begun + took)
    for name, of in (("before", usual), ("during", during)):
        assert of, f"no steps {name} the deploy"
        print(f"{len(of)} steps {name} it: p50 {of[len(of) // 2]:.2f} s, longest {of[-1]:.2f} s")
    nodes = ", ".join(f"{it:.2f}" for it in ends)
    print(f"deployed in {took:.1f} s; the nodes ended after {nodes} s", flush=True)
    assert during[-1] < STEP_S, f"a step took {during[-1]:.2f} s"


def versions(evidence: Evidence) -> list[str]:
    """Checks that all sessions went on at the new version. Returns what is wrong."""
    catalogs: Counter[str] = Counter()
    last: dict[str, list[str]] = {}
    calls: list[Call] = []
    for session in evidence.journal.lines:
        records = evidence.journal.records(session)
        attached = [it["body"]["catalog"] for it in records if it["kind"] == "runner_attached"]
        catalogs.update(attached)
        last[session] = attached
        calls += calls_of(session, records)
    outcomes = Counter((it.tool, str(it.outcome)) for it in calls)
    print(f"outcomes: {dict(outcomes)}; attached by catalog: {list(catalogs.values())}")
    wrong = [f"outcome: {it}" for it in calls if it.outcome != "returned"]
    if len(catalogs) != 2:
        wrong.append(f"versions: {len(catalogs)} catalogs on record")
    stepped = {it.session for it in calls if it.tool == "step"}
    wrong += [f"versions: {it} had one alone" for it in stepped if len(set(last[it])) != 2]
    return wrong


def evidence_of(directory: pathlib.Path, node: Node, journal: str, history: History) -> Evidence:
    """Exports the journal when all calls have ended."""
    until = time.monotonic() + END_S
    while True:
        export = directory / "export.jsonl"
        export.unlink(missing_ok=True)
        done = node.run("export", journal, "--out", str(export))
        assert done.returncode == 0, done.stderr
        seen = Witness.read(directory / "witness")
        evidence = Evidence(Journal.read(export), list(history.items), seen, {})
        is_open = any(it.startswith("open:") for it in check(evidence))
        if not is_open or until < time.monotonic():
            return evidence
        time.sleep(1)


def main() -> None:
    """Deploys, and checks what is left."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--next", type=pathlib.Path, help="the program of the new version")
    parser.add_argument("--approvals", type=int, default=1000)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="where the evidence of a failure goes")
    options = parser.parse_args()
    server = os.environ["RECOUNT_TEST_POSTGRES"]
    journal = f"{server}{'&' if '?' in server else '?'}schema=deploy_{uuid.uuid4().hex}"
    nodes: list[Node] = []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        witness = directory / "witness"
        witness.touch()
        latter = directory / "recount"
        shutil.copy(options.next or options.program, latter)
        history = History(directory / "operations.jsonl")
        try:
            for node in NODES:
                place, tools = directory / node, tools_file(witness, FORMER)
                program = options.program.resolve()
                nodes.append(Node(program, place, journal, tools=tools, lease_s=LEASE_S))
                assert nodes[-1].begin(), f"node {node} did not start"
            stage = Stage(nodes, history, options.seed)
            play(stage, options, (latter, tools_file(witness, LATTER)))
            evidence = evidence_of(directory, nodes[0], journal, history)
        finally:
            for started in nodes:
                started.kill()
        found = history.unexpected + check(evidence) + versions(evidence)
        for command in (("replay", journal, "--json"), ("verify", journal)):
            done = nodes[0].run(*command)
            if done.returncode != 0:
                found.append(done.stdout + done.stderr)
        if found and options.keep:
            shutil.copytree(directory, options.keep)
    assert not found, "\n".join(found[:20]) + f"\n{len(found)} violations"


if __name__ == "__main__":
    main()
