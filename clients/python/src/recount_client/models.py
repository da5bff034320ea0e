"""The values of the API.

Times are microseconds since 1970, as on record. `raw` is the whole JSON of a value, with keys that
have no attribute.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .reading import JsonObject, many, member, obj, optional, strings


@dataclass(frozen=True)
class Actor:
    """A person or a program, and how its name was verified."""

    name: str
    authenticated_by: str
    """`embedder`, `token`, `os_user` or `none`."""
    issuer: str | None = None
    """The party that vouches for the name."""

    @staticmethod
    def of(raw: JsonObject) -> Actor:
        """Reads an actor."""
        return Actor(
            member(raw, "name", str),
            member(raw, "authenticated_by", str),
            optional(raw, "issuer", str),
        )


@dataclass(frozen=True)
class Me:
    """The caller, as its token proves it.

    ```python
    me = client.me()
    print(me.actor.name, [grant["role"] for grant in me.grants])
    ```
    """

    actor: Actor
    grants: tuple[JsonObject, ...]
    """The roles, each with the agents and labels of its sessions."""

    @staticmethod
    def of(raw: JsonObject) -> Me:
        """Reads the caller."""
        return Me(Actor.of(obj(raw.get("actor"))), many(raw, "grants", dict))


@dataclass(frozen=True)
class OnRecord:
    """A recorded operation.

    ```python
    answered = client.approve(request_id)
    print(f"{answered.by.name} at seq {answered.seq}, {answered.missing} more needed")
    ```
    """

    session: str
    seq: int
    """The seq of the record."""
    tool: str
    """The tool. Empty if the operation concerns none."""
    by: Actor
    """The recorded actor."""
    missing: int = 0
    """The number of approvals that are still needed."""
    late: bool = False
    """True if a client's result came after its lease."""
    until_us: int | None = None
    """The end of a renewed lease."""
    attempts: int = 0
    """The number of starts of a cancelled call's tool."""

    @staticmethod
    def of(raw: JsonObject) -> OnRecord:
        """Reads a recorded operation."""
        return OnRecord(
            member(raw, "session", str),
            member(raw, "seq", int),
            member(raw, "tool", str),
            Actor.of(obj(raw.get("by"))),
            missing=optional(raw, "missing", int) or 0,
            late=optional(raw, "late", bool) or False,
            until_us=optional(raw, "until_us", int),
            attempts=optional(raw, "attempts", int) or 0,
        )


@dataclass(frozen=True)
class SessionInfo:
    """A session.

    ```python
    for info in client.sessions(agent="shop", state="open"):
        print(info.session, info.external_id, info.labels)
    ```
    """

    session: str
    agent: str
    external_id: str | None
    on_behalf_of: str | None
    labels: dict[str, str]
    closed: bool
    raw: JsonObject = field(repr=False, compare=False)

    @staticmethod
    def of(raw: JsonObject) -> SessionInfo:
        """Reads a session."""
        return SessionInfo(
            member(raw, "session", str),
            member(raw, "agent", str),
            optional(raw, "external_id", str),
            optional(raw, "on_behalf_of", str),
            strings(raw, "labels"),
            closed=optional(raw, "closed", bool) or False,
            raw=raw,
        )


@dataclass(frozen=True)
class Leave:
    """A standing leave in force: an approval that also allows later calls of its tool.

    ```python
    for leave in client.leaves():
        client.revoke(leave, reason="end of the shift")
    ```
    """

    session: str
    leave: int
    """The seq of the answer that gave the leave."""
    tool: str
    used: int
    """The number of calls that it has allowed."""
    by: tuple[Actor, ...]
    raw: JsonObject = field(repr=False, compare=False)

    @staticmethod
    def of(raw: JsonObject) -> Leave:
        """Reads a standing leave."""
        return Leave(
            member(raw, "session", str),
            member(raw, "leave", int),
            member(raw, "tool", str),
            member(raw, "used", int),
            many(raw, "by", Actor.of),
            raw=raw,
        )


@dataclass(frozen=True)
class Pause:
    """A pause in force.

    ```python
    client.pause({"agent": "shop"}, reason="wrong prices")
    for pause in client.pauses():
        print(pause.scope, pause.reason, pause.by.name)
    client.unpause({"agent": "shop"})
    ```
    """

    session: str | None
    """The session. `None` for a pause of more than one."""
    scope: Any
    """`session`, `everything`, or an object with `tool` or `agent`."""
    reason: str | None
    by: Actor
    raw: JsonObject = field(repr=False, compare=False)

    @staticmethod
    def of(raw: JsonObject) -> Pause:
        """Reads a pause."""
        return Pause(
            optional(raw, "session", str),
            raw.get("scope"),
            optional(raw, "reason", str),
            Actor.of(obj(raw.get("by"))),
            raw=raw,
        )


@dataclass(frozen=True)
class Hold:
    """A legal hold, which keeps sessions from erasure.

    ```python
    placed = client.hold({"session": session.id}, reason="case 7")
    for hold in client.holds():
        print(hold.hold, hold.target, hold.reason, hold.by.name)
    client.unhold(placed.seq, reason="case 7 is closed")
    ```
    """

    hold: int
    """The number of the hold."""
    target: JsonObject
    """An object with `session`, or with `label`: an object with `key` and `value`."""
    reason: str
    by: Actor
    raw: JsonObject = field(repr=False, compare=False)

    @staticmethod
    def of(raw: JsonObject) -> Hold:
        """Reads a hold."""
        return Hold(
            member(raw, "hold", int),
            obj(raw.get("target")),
            member(raw, "reason", str),
            Actor.of(obj(raw.get("by"))),
            raw=raw,
        )


@dataclass(frozen=True)
class Record:
    """A record of a session.

    ```python
    for record in session.records():
        print(record.seq, record.kind)
    ```
    """

    seq: int
    kind: str
    """The kind of the event, such as `call_started`."""
    body: Any
    """The body of the event; that of a sealed record only if the service has the key."""
    raw: JsonObject = field(repr=False, compare=False)
    """The record as it is stored."""

    @staticmethod
    def of(raw: JsonObject) -> Record:
        """Reads a record."""
        record = obj(raw.get("record"))
        body = raw["body"] if "body" in raw else record.get("body")
        return Record(member(record, "seq", int), member(record, "kind", str), body, record)
