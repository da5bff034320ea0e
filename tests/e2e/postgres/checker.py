"""Compares what clients were told, and what tools did, with the journal that is left in the end.

The records of a session are one sequence, whichever nodes appended them. Each acknowledgement must
agree with it: with the record that it names, and with the time at which it was given.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import datetime
import hashlib
import json
import pathlib
from collections.abc import Iterator
from typing import Any

from history import Operation
from witness import NOT_REPEATABLE, TICK_S, Witness

NO_HASH = "0" * 64

# A node may be stopped between its look at its lease and the start of a tool, which then begins as
# soon as the node goes on. No lease prevents that. So many runs of one stop are excused that begin
# within this time, in seconds: one for each thread that starts tools.
JUST_S = 0.02
JUST_RUNS = 2

Record = dict[str, Any]


@dataclasses.dataclass
class Journal:
    """The lines of an export, by session."""

    lines: dict[str, list[bytes]]

    @classmethod
    def read(cls, path: pathlib.Path) -> Journal:
        """Reads the records of an export."""
        lines = collections.defaultdict(list)
        for line in path.read_bytes().splitlines():
            value = json.loads(line)
            if "kind" in value:
                lines[value["session"]].append(line)
        return cls(dict(lines))

    def records(self, session: str) -> list[Record]:
        """Returns the records of a session, in order."""
        return [json.loads(line) for line in self.lines.get(session, [])]


@dataclasses.dataclass
class Call:
    """A call on record."""

    session: str
    seq: int
    tool: str
    order: str
    started: int = 0
    """The number of starts, without those whose tool had not begun and never will."""
    again: int = 0
    """The number of times that a person had it run again, when it was in doubt."""
    approved: int | None = None
    outcome: str | None = None
    response: Any = None


@dataclasses.dataclass
class Evidence:
    """All that is compared."""

    journal: Journal
    operations: list[Operation]
    witness: Witness
    reads: dict[tuple[str, int], str]
    """Records that readers were shown, by session and seq, as canonical JSON."""
    continued: list[float] = dataclasses.field(default_factory=list)
    """When nodes that had been stopped went on, in seconds since 1970."""


def hash_of(line: bytes) -> str:
    """Returns the hash that the next record of the session names."""
    return hashlib.sha256(b"\0" + line).hexdigest()


def check(evidence: Evidence) -> list[str]:
    """Returns all violations. Each begins with a word for its kind."""
    found = list(chains(evidence.journal))
    records = {session: evidence.journal.records(session) for session in evidence.journal.lines}
    found += acknowledgements(evidence.operations, records)
    found += refusals(evidence.operations, records)
    found += order(evidence.operations)
    calls: list[Call] = []
    for session, of_session in records.items():
        try:
            calls += calls_of(session, of_session)
        except KeyError as missing:
            found.append(f"reference: {session}: a record names {missing}, which is not there")
    found += runs(calls, evidence.witness)
    found += late(records, calls, evidence)
    found += ends(calls)
    for (session, seq), shown in evidence.reads.items():
        stored = at(records, session, seq)
        if json.dumps(stored, sort_keys=True) != shown:
            found.append(f"read: {session} {seq}: a reader saw {shown}, the journal has {stored}")
    return found


def at(records: dict[str, list[Record]], session: str, seq: int) -> Record | None:
    """Returns a record, if there is one."""
    of_session = records.get(session, [])
    return of_session[seq - 1] if 0 < seq <= len(of_session) else None


def chains(journal: Journal) -> Iterator[str]:
    """Checks that each session is one sequence, and that its time never runs backwards."""
    for session, lines in journal.lines.items():
        last_hash, last_at = NO_HASH, ""
        for seq, line in enumerate(lines, start=1):
            record = json.loads(line)
            if (record["seq"], record["prev"]) != (seq, last_hash) or record["at"] < last_at:
                yield f"chain: {session}: the record {seq} does not follow: {record}"
                break
            last_hash, last_at = hash_of(line), record["at"]


def acknowledgements(
    operations: list[Operation], records: dict[str, list[Record]]
) -> Iterator[str]:
    """Checks that the records which clients were told of are there, with the same content."""
    for it in operations:
        if it.ended is not None and not agrees(it, records):
            yield f"acknowledged: {it}: the journal has {named(it, records)}"
        if it.kind == "call":
            order, session = it.request["order"], it.request["session"]
            keys = [r for r in records.get(session, []) if r["body"].get("key") == order]
            if len(keys) > 1:
                yield f"twice: {order} was recorded {len(keys)} times in {session}"


def refusals(operations: list[Operation], records: dict[str, list[Record]]) -> Iterator[str]:
    """Checks that what was refused because another node has the session was not recorded."""
    for it in operations:
        if it.refused is not None and it.kind == "call":
            of_session = records.get(it.request["session"], [])
            if any(r["body"].get("key") == it.request["order"] for r in of_session):
                yield f"refused: {it} is on record"
        if it.refused is not None and it.kind == "answer":
            name = it.request["body"].get("reason")
            of_session = records.get(it.request["session"], [])
            if name and any(r["body"].get("reason") == name for r in of_session):
                yield f"refused: {it} is on record"


def seq_of(it: Operation) -> int:
    """Returns the seq of the record that an acknowledgement names."""
    if it.kind == "open":
        return 1
    if it.kind == "call":
        return int(it.answer["call"])
    return int(it.answer["seq"] if "seq" in it.answer else it.answer["at"])


def session_of(it: Operation) -> str:
    """Returns the session of an acknowledged operation."""
    return str((it.answer if it.kind == "open" else it.request)["session"])


def named(it: Operation, records: dict[str, list[Record]]) -> Record | None:
    """Returns the record that an acknowledgement names, if it is there."""
    return at(records, session_of(it), seq_of(it))


def agrees(it: Operation, records: dict[str, list[Record]]) -> bool:
    """True if the record that an acknowledgement names has what was asked for, or told."""
    record = named(it, records)
    if record is None:
        return False
    kind, body = record["kind"], record["body"]
    match it.kind:
        case "open":
            same = kind == "session_opened" and body["agent"] == it.request["agent"]
        case "call":
            asked = (it.request["tool"], it.request["order"], {"order": it.request["order"]})
            made = (body.get("name"), body.get("key"), body.get("args"))
            same = kind == "function_call_received" and made == asked
        case "answer":
            # Of an earlier answer the refusal tells what it was, and of a finding its kind.
            told = it.request["body"] if "seq" in it.answer else it.answer
            found = body.get("found")
            if "seq" not in it.answer and found is not None:
                found = next(iter(found))
            same = kind == "confirmation_answered" and body["request"] == it.request["seq"]
            same = same and told.get("confirmed") in (None, body.get("confirmed"))
            same = same and told.get("found") in (None, found)
        case "finish":
            same = kind in ("tool_returned", "outcome_found")
            same = same and body["call"] == it.request["call"]
        case "wait":
            ended = (kind, body.get("call"), body.get("outcome"))
            same = ended == ("response_issued", it.request["call"], it.answer["outcome"])
        case _:
            same = False
    return bool(same)


def order(operations: list[Operation]) -> Iterator[str]:
    """Checks that what began after an acknowledgement is on record behind it."""
    by_session = collections.defaultdict(list)
    for it in operations:
        if it.ended is not None and it.kind != "open":
            by_session[session_of(it)].append(it)
    for of_session in by_session.values():
        of_session.sort(key=lambda it: it.ended or 0.0)
        ends, highest = [it.ended or 0.0 for it in of_session], [0]
        for it in of_session:
            highest.append(max(highest[-1], seq_of(it)))
        for it in of_session:
            # Others name a record that may be older than the request.
            appends = it.kind != "wait" and (it.kind == "call" or "seq" in it.answer)
            before = highest[bisect.bisect_left(ends, it.begun)]
            if appends and seq_of(it) <= before:
                yield f"order: {it} began when the record {before} was acknowledged"


def calls_of(session: str, records: list[Record]) -> Iterator[Call]:
    """Returns the calls of a session, with what became of them."""
    calls: dict[int, Call] = {}
    doubts: dict[int, Call] = {}
    gates: dict[int, Call] = {}
    for record in records:
        kind, body, seq = record["kind"], record["body"], record["seq"]
        if kind == "function_call_received":
            calls[seq] = Call(session, seq, body["name"], body["args"]["order"])
        elif kind == "confirmation_requested":
            asked = doubts if body["about"] == "in_doubt" else gates
            asked[seq] = calls[body["call"]]
        elif kind == "confirmation_answered" and body.get("confirmed"):
            if body["request"] in doubts:
                doubts[body["request"]].again += 1
            else:
                gates[body["request"]].approved = seq
        elif kind == "call_started":
            calls[body["call"]].started += 1
        elif kind == "claim_ended" and body.get("not_begun"):
            calls[body["call"]].started -= 1
        elif body.get("not_begun"):
            # The tools of these starts never run: the node ended before.
            for start in body["not_begun"]:
                calls[start["call"]].started -= 1
        elif kind == "tool_returned":
            calls[body["call"]].response = body.get("response")
        elif kind == "response_issued":
            calls[body["call"]].outcome = body["outcome"]
    yield from calls.values()


def runs(calls: list[Call], witness: Witness) -> Iterator[str]:
    """Compares the runs that tools noted with those on record."""
    orders = {call.order: call for call in calls}
    for order in witness.begun:
        if order not in orders:
            yield f"unrecorded: {order} ran and is not on record"
    for order, call in orders.items():
        begun = witness.begun[order]
        if begun > call.started:
            yield f"unrecorded: {call} ran {begun} times"
        allowed = 1 + call.again
        if call.tool in NOT_REPEATABLE and max(begun, call.started) > allowed:
            yield f"double: {call} ran {begun} times"
        if call.outcome == "returned":
            if not witness.ended[order]:
                yield f"unrecorded: {call} has a result and did not run to its end"
            if call.response != {"order": order}:
                yield f"result: {call} has the result of another run"


def late(records: dict[str, list[Record]], calls: list[Call], evidence: Evidence) -> Iterator[str]:
    """Checks that no node started a tool when another one had taken its session over.

    A takeover is on record as the end of the node that the session had before. All run on one
    machine, so its clock has the times of both.
    """
    excused: collections.Counter[float] = collections.Counter()
    for call in calls:
        of_session = records[call.session]
        for begun in evidence.witness.times.get(call.order, []):
            gone = taken_over(of_session, call, begun)
            if gone is None:
                continue
            before = [it for it in evidence.continued if it - TICK_S <= begun <= it + JUST_S]
            if before:
                excused[before[0]] += 1
            if not before or excused[before[0]] > JUST_RUNS:
                after_ms = (begun - time_of(gone)) * 1000
                seq = gone["seq"]
                yield f"late: {call} began {after_ms:.0f} ms after the takeover of record {seq}"


def taken_over(records: list[Record], call: Call, begun: float) -> Record | None:
    """Returns the record of the takeover before which a run should have begun, if there is one."""
    gone = None
    for record in records[call.seq :]:
        # The program was started at any time of its tick.
        if time_of(record) >= begun + TICK_S:
            break
        if record["kind"] == "call_started" and record["body"]["call"] == call.seq:
            gone = None
        elif record["kind"] == "runner_detached" and time_of(record) < begun:
            gone = gone or record
    return gone


def time_of(record: Record) -> float:
    """Returns the time of a record, in seconds since 1970."""
    return datetime.datetime.fromisoformat(record["at"]).timestamp()


def ends(calls: list[Call]) -> Iterator[str]:
    """Checks that all calls have ended, and that those which were approved have run."""
    for call in calls:
        if call.outcome is None:
            yield f"open: {call} has no end"
        elif call.approved is not None and not call.started:
            yield f"approval: {call} was approved and did not run"
