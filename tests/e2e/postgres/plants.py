"""Violations that are planted into the evidence of a real run, each of which the checker must find.

A checker that finds nothing in a sound run proves nothing by itself.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator

from checker import (
    JUST_RUNS,
    NO_HASH,
    Evidence,
    Record,
    calls_of,
    check,
    hash_of,
    seq_of,
    session_of,
    time_of,
)
from history import Operation

# The time from a takeover to a run that begins too late, in seconds.
LATE_S = 0.5


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


def late(evidence: Evidence, runs: int) -> float:
    """Starts a call so often when another node has taken its session over. Returns the time."""
    session, call = next(
        (session, call)
        for session in evidence.journal.lines
        for call in calls_of(session, evidence.journal.records(session))
        if call.outcome is not None and call.order in evidence.witness.times
    )
    records = evidence.journal.records(session)
    gone = {"kind": "runner_detached", "body": {"reason": "lost"}}
    write(evidence, session, [*records, {**records[-1], **gone}])
    begun = time_of(records[-1]) + LATE_S
    evidence.witness.times[call.order] = [begun] * runs
    return begun


def late_run(evidence: Evidence) -> None:
    """Starts a tool when another node has taken its session over."""
    late(evidence, 1)


def inexcusable_runs(evidence: Evidence) -> None:
    """Starts more tools as a stopped node goes on than it may have been about to start."""
    evidence.continued.append(late(evidence, JUST_RUNS + 1))


def unrecorded_run(evidence: Evidence) -> None:
    """Runs a tool, which may run again, once more than it was started."""
    order = next(it for it in evidence.witness.begun if it.startswith("pack"))
    evidence.witness.begun[order] += 1


def recorded_twice(evidence: Evidence) -> None:
    """Records a call again with the same key."""
    call = next(acknowledged(evidence, "call"))
    session = session_of(call)
    records = evidence.journal.records(session)
    write(evidence, session, [*records, records[seq_of(call) - 1]])


def recorded_refusal(evidence: Evidence) -> None:
    """Records a call whose client was told that nothing is recorded."""
    call = next(acknowledged(evidence, "call"))
    call.ended, call.answer, call.refused = None, {}, "owned"


def recorded_refused_answer(evidence: Evidence) -> None:
    """Records an answer whose client was told that nothing is recorded."""
    answers = acknowledged(evidence, "answer")
    answer = next(it for it in answers if "reason" in it.request["body"])
    answer.ended, answer.answer, answer.refused = None, {}, "fenced"


def call_without_end(evidence: Evidence) -> None:
    """Loses the end of a call, which was the last record of its session."""
    session = session_of(next(acknowledged(evidence, "call")))
    records = evidence.journal.records(session)
    last = max(n for n, it in enumerate(records) if it["kind"] == "response_issued")
    write(evidence, session, records[:last])


def result_of_another(evidence: Evidence) -> None:
    """Records the result of another run."""
    for session in evidence.journal.lines:
        records = evidence.journal.records(session)
        ended = {it.seq for it in calls_of(session, records) if it.outcome == "returned"}
        for record in records:
            if record["kind"] == "tool_returned" and record["body"]["call"] in ended:
                record["body"]["response"] = {"order": "pay-0"}
                write(evidence, session, records)
                return


def lost_reference(evidence: Evidence) -> None:
    """Has a record name a call that is not there."""
    session = session_of(next(acknowledged(evidence, "call")))
    records = evidence.journal.records(session)
    issued = {"kind": "response_issued", "body": {"call": 1_000_000, "outcome": "returned"}}
    write(evidence, session, [*records, {**records[-1], **issued}])


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
    (foreign_run, "unrecorded: pay-0 ran and is not"),
    (unrecorded_run, "unrecorded: Call"),
    (late_run, "late"),
    (inexcusable_runs, "late"),
    (recorded_twice, "twice"),
    (recorded_refusal, "refused"),
    (recorded_refused_answer, "refused"),
    (call_without_end, "open"),
    (result_of_another, "result"),
    (lost_reference, "reference"),
    (reordered, "order"),
    (other_read, "read"),
]


def all_found(evidence: Evidence) -> None:
    """Plants each violation into a copy, and fails if the checker does not find it."""
    for plant, word in PLANTS:
        injured = copy.deepcopy(evidence)
        plant(injured)
        found = check(injured)
        assert any(it.startswith(word) for it in found), f"{plant.__name__}: {found[:3]}"
