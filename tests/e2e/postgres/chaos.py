"""Three nodes on PostgreSQL under a mixed load, with faults of nodes, networks and the database.

The load never stops while faults strike: sessions are opened, calls made, approved and read at
nodes at random, and tools run. The faults are those of `faults.py`, one a round: a node is killed,
stopped beyond its lease, also while approvals arrive there, or cut from the database in one
direction or both; the replies to a takeover are lost; the postmaster is killed; a synchronous
standby is promoted. Beside them connections are lost all the time (`weather.py`). Then the nodes
become quiet, and in the end:

* all that was acknowledged is on record, and each session is one sequence (`checker.py`);
* the tools noted no run that is not on record, none twice that is not repeatable, and none that a
  node began when another one had taken its session over;
* each approved call has run, and each call has ended;
* a lost node's approvals are taken, and its calls go on, at another one within 5 s, with a lease of
  3 s;
* every session replays, and the journal verifies;
* violations that are planted into this evidence are found (`plants.py`).

    chaos.py PROGRAM [--rounds 6] [--seed 1] [--first 0]
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from checker import Evidence, Journal, calls_of, check
from claims import TOOLS as CLIENT_TOOLS
from claims import work
from database import Pair
from faults import TAKEOVER_S, Scene, fault_of
from history import Client, History
from load import Load
from node import LEASE_S, Keeper, Node
from plants import all_found
from proxy import Proxy
from weather import Weather
from witness import Witness, tools_file

NODES = ("a", "b", "c")

# The longest time of the load before a fault strikes, and the time for nodes to be ready again.
CALM_S = 0.8
READY_S = 30

# The time for all calls to end when no further ones are made, in seconds.
END_S = 60
LOOK_S = 1

# How often each tool is called.
TOOLS = {"pay": 6, "charge": 6, "check": 3, "pack": 5, "haul": 3, "fetch": 3}

# Those that nodes run.
SERVICE_TOOLS = ("pay", "charge", "check", "pack", "sign")

# The programs that run calls of clients.
WORKERS = 3


def play(options: argparse.Namespace, scene: Scene, keeper: Keeper, load: Load) -> Counter[str]:
    """Plays all rounds. Returns how often each fault struck."""
    played: Counter[str] = Counter()
    for number in range(options.first, options.first + options.rounds):
        time.sleep(scene.random.uniform(0.1, CALM_S))
        fault, begun, taken = fault_of(number), time.monotonic(), len(scene.takeovers)
        fault(scene)
        struck = time.monotonic() - begun
        assert keeper.all_ready(READY_S), f"round {number}: nodes are not ready again"
        told = [f"{it:.2f}" for it in scene.takeovers[taken:]]
        more = f", taken over after {' and '.join(told)} s" if told else ""
        took = time.monotonic() - begun
        print(f"round {number}: {fault.__name__}, {struck:.1f} s of {took:.1f} s{more}", flush=True)
        played[fault.__name__] += 1
        if load.failures or load.history.unexpected:
            break
    return played


def evidence_of(
    directory: pathlib.Path, node: Node, address: str, load: Load, scene: Scene
) -> Evidence:
    """Exports the journal, and reads what the tools noted."""
    export = directory / "export.jsonl"
    export.unlink(missing_ok=True)
    done = node.run("export", address, "--out", str(export))
    assert done.returncode == 0, done.stdout + done.stderr
    witness = Witness.read(directory / "witness")
    reads = dict(load.shown)
    operations = list(load.history.items)
    return Evidence(Journal.read(export), operations, witness, reads, list(scene.continued))


def settled(
    directory: pathlib.Path, node: Node, address: str, load: Load, scene: Scene
) -> Evidence:
    """Waits until all calls have ended. Returns the evidence, also if some have not."""
    until = time.monotonic() + END_S
    while True:
        evidence = evidence_of(directory, node, address, load, scene)
        violations = check(evidence)
        is_open = any(it.startswith("open:") for it in violations)
        if not is_open or until < time.monotonic():
            return evidence
        time.sleep(LOOK_S)


def verdict(
    evidence: Evidence, scene: Scene, keeper: Keeper, address: str, load: Load
) -> list[str]:
    """Returns all violations."""
    found = load.history.unexpected + check(evidence) + keeper.crashes
    found += [panic for node in scene.nodes for panic in node.panics()]
    found += [f"takeover: {it:.2f} s" for it in scene.takeovers if it > TAKEOVER_S]
    for command in (("replay", address, "--json"), ("verify", address)):
        done = scene.nodes[0].run(*command)
        if done.returncode != 0:
            found.append(f"{command[0]}: {done.stdout + done.stderr}")
    return found


def summary(evidence: Evidence, scene: Scene, keeper: Keeper, history: History) -> str:
    """Returns what was done, in numbers."""
    kinds = Counter(it.kind for it in evidence.operations if it.ended is not None)
    unknown = sum(it.ended is None and it.kind != "wait" for it in evidence.operations)
    again = sum(it.tries - 1 for it in evidence.operations if it.tries > 1)
    calls: list[Any] = []
    for session in evidence.journal.lines:
        calls += calls_of(session, evidence.journal.records(session))
    outcomes = Counter(str(it.outcome) for it in calls)
    lines = [
        f"acknowledged: {dict(kinds)}; unknown: {unknown}; sent again: {again} times",
        f"refused: {dict(history.refused)}",
        f"{sum(evidence.witness.begun.values())} runs of {len(calls)} calls: {dict(outcomes)}",
        f"nodes started again: {dict(keeper.counts)}",
        f"records read meanwhile: {len(evidence.reads)}",
        f"slowest takeover: {max(scene.takeovers, default=0):.2f} s",
    ]
    return "\n".join(lines)


def main() -> None:
    """Plays the rounds, and checks what is left."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first round")
    parser.add_argument("--keep", type=pathlib.Path, help="where the evidence of a failure goes")
    options = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp())
    failures = ["it did not come to its end"]
    try:
        failures = run(options, directory)
    finally:
        if failures and options.keep:
            shutil.copytree(directory, options.keep, ignore=shutil.ignore_patterns(".s.*"))
        shutil.rmtree(directory)
    assert not failures, "\n".join(failures[:20]) + f"\n{len(failures)} violations"


def address_of(port: int) -> str:
    """Returns the address of the journal at a port."""
    return f"postgres://recount@127.0.0.1:{port}/postgres"


def run(options: argparse.Namespace, directory: pathlib.Path) -> list[str]:
    """Runs everything in a directory. Returns the violations."""
    directory.chmod(0o755)
    (directory / "database").mkdir()
    witness = directory / "witness"
    witness.touch()
    pair = Pair(directory / "database")
    proxies = {name: Proxy(pair.primary.port) for name in NODES}
    nodes: list[Node] = []
    keeper: Keeper | None = None
    weather: Weather | None = None
    try:
        for name, proxy in proxies.items():
            node = Node(
                options.program.resolve(),
                directory / name,
                address_of(proxy.port),
                tools=tools_file(witness, SERVICE_TOOLS),
                client_tools=CLIENT_TOOLS,
                lease_s=LEASE_S,
            )
            nodes.append(node)
            assert node.begin(), f"node {name} did not start"
        history = History(directory / "operations.jsonl")
        keeper, weather = Keeper(nodes), Weather(nodes, proxies, options.seed)
        workers: list[Callable[[Client], None]] = [functools.partial(work, witness)] * WORKERS
        load = Load(nodes, history, TOOLS, options.seed, workers)
        client = Client(nodes, history, options.seed * 1000 + 999)
        scene = Scene(nodes, proxies, pair, client, random.Random(options.seed), witness)
        try:
            played = play(options, scene, keeper, load)
            weather.close()
            load.quiet()
            address = address_of(pair.primary.port)
            evidence = settled(directory, nodes[0], address, load, scene)
        finally:
            history.write()
            load.close()
        failures = verdict(evidence, scene, keeper, address, load)
        print(f"{sum(played.values())} rounds: {dict(played)}")
        print(summary(evidence, scene, keeper, history))
        print(f"disturbed beside the faults: {dict(weather.counts)}")
        if not failures:
            all_found(evidence)
            print("all planted violations found")
        return failures
    finally:
        for watch in (weather, keeper):
            if watch is not None:
                watch.close()
        for node in nodes:
            node.kill()
        for proxy in proxies.values():
            proxy.close()
        pair.stop()


if __name__ == "__main__":
    main()
