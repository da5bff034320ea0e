"""Violations that are planted into the evidence of a real run, each of which the checker must find.

A checker that finds nothing in a sound run proves nothing by itself.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator

from checker import NO_HASH, Evidence, Record, calls_of, check, hash_of, seq_of, session_of
from history import Operation


def write(evidence: Evidence, session: str, records: list[Record]) -> None:
    """Replaces the records of a session by others, in one sound chain."""
    lines, last_hash = [], NO_HASH
    for seq, record in enumerate(records, start=1):
        chained = {**record, "seq": seq, "prev": last_hash}
        lines.append(json.dumps(chained, separators=(",", ":")).encode())
        last_hash = hash_of(lines[-1])
    evidence.journal.lines[session] = lines


def acknowledged(evidence: Evidence, kind: str) -> Iterator[Operation]:
    """Returns the acknowledged operations of a kind that made a record."""
    for it in evidence.operations:
        if it.kind == kind and it.ended is not None and (kind != "answer" or "seq" in it.answer):
            yield it


def lost_tail(evidence: Evidence) -> None:
    """Loses a call that was acknowledged, and all behind it. What is left is sound."""
    call = next(acknowledged(evidence, "call"))
    session = session_of(call)
    write(evidence, session, evidence.journal.records(session)[: seq_of(call) - 1])


def lost_record(evidence: Evidence) -> None:
    """Loses an answer in the middle of a session, and closes the gap."""
    answer = next(acknowledged(evidence, "answer"))
    session = session_of(answer)
    records = evidence.journal.records(session)
    del records[seq_of(answer) - 1]
    write(evidence, session, records)


def altered_answer(evidence: Evidence) -> None:
    """Records an approval as a denial."""
    answer = next(
        it for it in acknowledged(evidence, "answer") if it.request["body"].get("confirmed")
    )
    session = session_of(answer)
    records = evidence.journal.records(session)
    records[seq_of(answer) - 1]["body"]["confirmed"] = False
    write(evidence, session, records)


def fork(evidence: Evidence) -> None:
    """Has two nodes append after the same record."""
    session = session_of(next(acknowledged(evidence, "call")))
    lines = evidence.journal.lines[session]
    lines[3:3] = [lines[3].replace(b'"at"', b' "at"')]


def lost_approval(evidence: Evidence) -> None:
    """Ends a session behind an approval, whose call did not run."""
    answer = next(
        it
        for it in acknowledged(evidence, "answer")
        if it.request["about"] == "gate" and it.request["body"]["confirmed"]
    )
    session = session_of(answer)
    records = evidence.journal.records(session)[: seq_of(answer)]
    lost = {it.order for it in calls_of(session, evidence.journal.records(session))}
    issued = {"kind": "response_issued", "body": {"call": answer.request["call"], "outcome": "x"}}
    write(evidence, session, [*records, {**records[-1], **issued}])
    for order in lost:
        del evidence.witness.begun[order], evidence.witness.ended[order]


def second_run(evidence: Evidence) -> None:
    """Runs a tool twice that must run once."""
    order = next(it for it in evidence.witness.begun if it.startswith("charge"))
    evidence.witness.begun[order] += 1


def foreign_run(evidence: Evidence) -> None:
    """Runs a call that no record has."""
    evidence.witness.begun["pay-0"] = 1


def reordered(evidence: Evidence) -> None:
    """Acknowledges a later append of a session before an earlier one was sent."""
    calls = list(acknowledged(evidence, "call"))
    first, second = next(
        (one, two)
        for one in calls
        for two in calls
        if session_of(one) == session_of(two) and seq_of(one) < seq_of(two)
    )
    second.begun, second.ended = first.begun - 2, first.begun - 1


def wrong_outcome(evidence: Evidence) -> None:
    """Told a client of another outcome than the one on record."""
    wait = next(acknowledged(evidence, "wait"))
    wait.answer = {**wait.answer, "outcome": "denied-by-none"}


def other_read(evidence: Evidence) -> None:
    """Showed a reader a record that vanished later."""
    session, seq = max(evidence.reads)
    evidence.reads[session, seq + 100_000] = "{}"


# Each violation, with the word of the checker for it.
PLANTS: list[tuple[Callable[[Evidence], None], str]] = [
    (lost_tail, "acknowledged"),
    (lost_record, "acknowledged"),
    (altered_answer, "acknowledged"),
    (wrong_outcome, "acknowledged"),
    (fork, "chain"),
    (lost_approval, "approval"),
    (second_run, "double"),
    (foreign_run, "unrecorded"),
    (reordered, "order"),
    (other_read, "read"),
]


def all_found(evidence: Evidence) -> None:
    """Plants each violation into a copy, and fails if the checker does not find it."""
    for plant, word in PLANTS:
        injured = copy.deepcopy(evidence)
        plant(injured)
        found = check(injured)
        assert any(it.startswith(f"{word}:") for it in found), f"{plant.__name__}: {found[:3]}"
