"""Programs outside of the nodes that claim calls of client-run tools, run them, and report.

A claim, its run and its report go to different nodes. Some runs are lost, as with their program.
"""

from __future__ import annotations

import pathlib
import time
import uuid
from typing import Any

from history import Client
from witness import UNTIMED

LEASE_MS = 2000

# The longest run, in seconds, and the share of the runs that are lost.
RUN_S = 0.2
LOST = 0.04

# A report is refused with these codes if the lease has ended, or if it is on record already.
TOO_LATE = ("call-settled", "stale-attempt", "claim-ended", "already-on-record")

# In the configuration of a node: the second one is repeatable.
TOOLS = """\
[[agents.shop.client_tools]]
name = "haul"
description = "Hauls a crate"
[[agents.shop.client_tools]]
name = "fetch"
description = "Fetches a list"
in_doubt = "retry"
"""

NAMES = ("haul", "fetch")


def work(witness: pathlib.Path, client: Client) -> None:
    """Claims one call at a node, runs it, and reports its result at other ones."""
    claim = f"claim-{uuid.uuid4().hex}"
    body = {"claim": claim, "tools": list(NAMES), "lease_ms": LEASE_MS, "wait": 1}
    told = client.ask(client.random.choice(client.nodes), "POST", "/v1/claims", body)
    if told is None or told[0] in (204, 429) or told[0] >= 500:
        # Without a response the call may be claimed. Its lease ends.
        time.sleep(RUN_S)
        return
    if told[0] == 409 and told[1]["code"] == "claim-ended":
        # It was recorded late, and its lease has ended.
        return
    if told[0] != 200:
        client.history.surprise(f"POST /v1/claims: {told}")
        return
    claimed: dict[str, Any] = told[1]
    note(witness, f"begin {UNTIMED}", claimed["args"]["order"])
    time.sleep(client.random.uniform(0, RUN_S))
    if client.random.random() < LOST:
        return
    note(witness, "end", claimed["args"]["order"])
    report(client, claimed, claim)


def note(witness: pathlib.Path, word: str, order: str) -> None:
    """Notes a run, as the tools of the service do."""
    with witness.open("a") as lines:
        lines.write(f'{word} {{"order":"{order}"}}\n')


def report(client: Client, claimed: dict[str, Any], claim: str) -> None:
    """Reports the result until a node takes it, or says that it is too late."""
    place = {name: claimed[name] for name in ("session", "call")}
    operation = client.history.begin("finish", place)
    path = f"/v1/sessions/{claimed['session']}/calls/{claimed['call']}/claim/finish"
    body = {"claim": claim, "attempt": claimed["attempt"], "result": claimed["args"]}
    client.settle(operation, path, body, refused=TOO_LATE)
