"""Kills the gateway, or the vendor, while calls are held, and looks for lost or double work.

    kills.py PROGRAM [--calls 50] [--clients 10] [--seed 1] [--kill gateway,vendor]

Clients say orders, each of which becomes a held call. An approver allows them through the API.
Meanwhile the gateway is killed with SIGKILL at random times and started again; then, in a run of
its own, the vendor is. The clients reconnect by their handles. They note each call that was
delivered to them before they answer it, and the vendor notes all that it is told: both are
witnesses that the journal cannot influence. In the end:

* each call was delivered at most once, and exactly once if its result is on record;
* each call on record has ended, and nothing waits;
* a call that was cut off after its delivery is in doubt and settled by its rule: `refund` as
  unknown, `transfer` by a person; the vendor was told;
* the vendor has at most one response to each call, and none for a call of another connection;
* every session replays to the decisions on record, and the journal is sound.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from gateway import Gateway, answering, free_ports, gating, nothing_waits
from programs import HERE

# The time between a start and the next kill, and the one that the approver takes, in seconds.
KILL_AFTER_S = (0.2, 0.9)
THINK_S = (0.05, 0.6)

# An expired limit is a failure, so it is long: the time without a new delivery, in seconds.
PATIENCE_S = 60

# What a person says about a transfer in doubt.
FOUND = {"found": {"failed": "the bank knows nothing of it"}}

# Outcomes of a call whose result is on record, and of one that was in doubt.
WITH_RESULT = ("returned", "supplied")
IN_DOUBT = {"refund": "unknown", "transfer": "supplied"}


class Witness:
    """What clients and the vendor have noted, in files outside of the journal."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    def words(self, what: str) -> list[str]:
        """Returns what was noted under this key."""
        text = self.path.read_text() if self.path.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
        return [line[what] for line in lines if what in line]


class Vendor:
    """The process of the vendor, at the same port after each start."""

    def __init__(self, port: int, witness: pathlib.Path) -> None:
        options = ["--port", str(port), "--witness", str(witness)]
        self.command = [sys.executable, "-B", str(HERE / "kills_vendor.py"), *options]
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Starts it, and returns once it listens."""
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "listening\n"

    def kill(self) -> None:
        """Ends it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None


@contextlib.contextmanager
def ordering(gateway: Gateway, witness: pathlib.Path, given: argparse.Namespace) -> Iterator[Any]:
    """Runs the clients beside the body, until it is done."""
    command = [sys.executable, "-B", str(HERE / "kills_client.py")]
    command += ["--url", f"ws://127.0.0.1:{gateway.plain}", "--witness", str(witness)]
    command += ["--orders", str(given.calls), "--clients", str(given.clients)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, f"the clients ended with {process.returncode}"
    finally:
        process.kill()
        process.wait()


def wait_for_orders(process: Any, answered: threading.Event) -> None:
    """Waits until the clients have answered a call for each order."""
    line = process.stdout.readline()
    answered.set()
    assert line == "answered\n", f"the clients ended early: {line!r}"


def run(program: pathlib.Path, which: str, given: argparse.Namespace) -> None:
    """Kills one of both until each order is answered, then checks what is left."""
    randomness = random.Random(f"{given.seed} {which}")
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        directory = pathlib.Path(temporary)
        seen, told = Witness(directory / "clients"), Witness(directory / "vendor")
        vendor = Vendor(port, told.path)
        stack.callback(vendor.kill)
        vendor.start()
        gateway = stack.enter_context(gating(program, port, hold_inline="60s"))
        kills = 0
        clients = ordering(gateway, seen.path, given)
        with answering(gateway, decide) as approver, clients as process:
            answered = threading.Event()
            waiting = threading.Thread(target=wait_for_orders, args=(process, answered))
            waiting.start()
            limit = time.monotonic() + PATIENCE_S + given.calls
            while not answered.wait(randomness.uniform(*KILL_AFTER_S)):
                assert not approver.done(), "the approver has failed"
                assert time.monotonic() < limit, stuck(seen, gateway)
                killed = vendor if which == "vendor" else gateway.service
                killed.kill()
                killed.start()
                kills += 1
            waiting.join()
            nothing_waits(gateway, PATIENCE_S)
            ended(gateway)
            settled = check(gateway, seen, told)
        print(f"{kills} kills of the {which}, {settled}")


def decide(asked: dict[str, Any]) -> bool | dict[str, Any] | None:
    """Approves each order, after a time. About a call in doubt, the approver knows more."""
    waited = time.time() - asked["requested_at_us"] / 1_000_000
    if waited < random.Random(asked["request"]).uniform(*THINK_S):
        return None
    return FOUND if asked.get("about") == "in_doubt" else True


def stuck(seen: Witness, gateway: Gateway) -> str:
    """Describes a run that does not end."""
    delivered, said = len(seen.words("delivered")), len(seen.words("said"))
    return f"{delivered} of {said} calls delivered; waiting: {json.dumps(gateway.pending())[:2000]}"


def ended(gateway: Gateway) -> None:
    """Waits until each call on record has ended: the last one may have been cut off."""
    until = time.monotonic() + PATIENCE_S
    while rows := [row for row in gateway.decisions() if row["ended"] is None]:
        assert time.monotonic() < until, f"these calls have no end: {json.dumps(rows)[:2000]}"
        time.sleep(0.2)


def check(gateway: Gateway, seen: Witness, told: Witness) -> str:
    """Compares the record with both witnesses. Returns the numbers."""
    delivered, called = Counter(seen.words("delivered")), Counter(told.words("called"))
    responses = Counter(told.words("response"))
    outcomes: dict[str, list[str]] = defaultdict(list)
    for row in gateway.decisions():
        outcomes[row["args"]["note"]].append(row["ended"]["outcome"])
    twice = [words for words, times in delivered.items() if times > 1]
    assert not twice, f"delivered more than once: {twice}"
    assert not (strange := delivered.keys() - outcomes.keys()), f"not on record: {strange}"
    assert not (strange := outcomes.keys() - called.keys()), f"never called: {strange}"
    again = [words for words, times in responses.items() if times > 1]
    assert not again, f"the vendor has several responses to {again}"
    assert not told.words("ignored"), "a response came to a call of another connection"
    conversation = " ".join(told.words("told"))
    for words, found in outcomes.items():
        tool = words.split()[0]
        assert len(found) == 1, f"{words} has {len(found)} calls"
        assert found[0] in (*WITH_RESULT, IN_DOUBT[tool], "failed"), f"{words} ended as {found[0]}"
        if found[0] == "returned":
            assert delivered[words] == 1, f"{words} has a result and was never delivered"
        heard = responses[words] or f'{words}"' in conversation
        assert heard, f"the vendor was not told of {words}, which ended as {found[0]}"
    total = Counter(f"{words.split()[0]} {found[0]}" for words, found in outcomes.items())
    return (
        f"{len(outcomes)} held calls, {delivered.total()} delivered: {dict(sorted(total.items()))}"
    )


def main() -> None:
    """Runs both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kill", default="gateway,vendor")
    given = parser.parse_args()
    # A vendor that was killed is worth a line for each client and attempt.
    os.environ.setdefault("RECOUNT_LOG", "error")
    print(f"seed {given.seed}")
    for which in given.kill.split(","):
        run(given.program.resolve(), which, given)


if __name__ == "__main__":
    main()
