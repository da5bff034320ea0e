"""The values of calls: their states, what waits for an answer, and what a client has claimed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .errors import CallCancelled, CallDenied, CallFailed, NotYet, UnexpectedResponse
from .reading import JsonObject, member, obj, optional, strings

_DENIED = frozenset({"denied", "expired"})


def call_ref(session: str, call: int | str) -> str:
    """Returns the reference of a call, for `Recount.resume` in this or another process."""
    return f"{session}/{call}"


def parsed_ref(ref: str) -> tuple[str, str]:
    """Returns the session and the call of a reference.

    Raises:
        ValueError: The text is no reference.
    """
    session, slash, call = ref.partition("/")
    if not (session and slash and call) or "/" in call:
        raise ValueError(f"expected SESSION/CALL, found {ref!r}")
    return session, call


@dataclass(frozen=True, kw_only=True)
class OfCall:
    """The members that every value about a call has."""

    session: str
    call: int
    """The seq of the call's record."""
    tool: str
    raw: JsonObject = field(repr=False, compare=False)

    @property
    def ref(self) -> str:
        """The reference of the call, for `Recount.resume`."""
        return call_ref(self.session, self.call)


@dataclass(frozen=True, kw_only=True)
class CallState(OfCall):
    """A call, as far as it has come.

    ```python
    state = session.start("refund", {"order": 17}, key="refund-17").state()
    print(state.result() if state.ended else f"{state.phase}, asked as {state.request}")
    ```
    """

    call_id: str
    attempts: int
    """The number of starts of the tool."""
    phase: str | None
    """The phase of an open call, such as `ready`; `None` after the end."""
    request: str | None
    """The confirmation request that the call waits for."""
    outcome: str | None
    """`returned`, `failed`, `denied`, `cancelled`, `unknown`, …; `None` while it is open."""
    response: dict[str, Any] | None
    """The response as recorded. A result that is no object is under `output`."""
    results: tuple[Any, ...]
    """The results of a streaming tool."""
    error: str | None
    """The reason, if the call ended without a result."""
    error_kind: str | None
    """The kind of the reason, such as `execution_failed`."""
    repeated: bool
    """True if an earlier request with the same key made the call."""

    @staticmethod
    def of(raw: JsonObject) -> CallState:
        """Reads a call."""
        phase = obj(raw["phase"]) if raw.get("phase") is not None else {}
        ended = obj(raw["ended"]) if raw.get("ended") is not None else None
        end = {} if ended is None else ended
        error = obj(end["error"]) if end.get("error") is not None else {}
        response = optional(end, "response", dict)
        if ended is not None and response is None and not error:
            raise UnexpectedResponse("expected the response or the error of an ended call")
        return CallState(
            session=member(raw, "session", str),
            call=member(raw, "call", int),
            call_id=member(raw, "call_id", str),
            tool=member(raw, "tool", str),
            attempts=member(raw, "attempts", int),
            phase=optional(phase, "name", str),
            request=optional(raw, "request", str),
            outcome=None if ended is None else member(ended, "outcome", str),
            response=response,
            results=tuple(optional(end, "results", list) or ()),
            error=member(error, "text", str) if error else None,
            error_kind=optional(error, "kind", str),
            repeated=optional(raw, "repeated", bool) or False,
            raw=raw,
        )

    @property
    def ended(self) -> bool:
        """True if the call has an outcome."""
        return self.outcome is not None

    def result(self) -> dict[str, Any]:
        """Returns the response of a call that has returned.

        Raises:
            CallFailed: The call ended without a result.
            NotYet: The call has not ended.
        """
        if self.error is None:
            if self.response is None:
                raise NotYet(self.ref)
            return self.response
        outcome = self.outcome or "failed"
        kind = CallFailed
        if outcome in _DENIED:
            kind = CallDenied
        elif outcome == "cancelled":
            kind = CallCancelled
        raise kind(self.ref, outcome, self.error)


@dataclass(frozen=True, kw_only=True)
class OfAgentCall(OfCall):
    """The members that a call's value has beside those, if a client or an approver acts on it."""

    agent: str
    args: Any
    """The arguments as a JSON object: those that an answer binds, or with which the tool runs."""


@dataclass(frozen=True, kw_only=True)
class ClaimedCall(OfAgentCall):
    """A call that this client holds for a lease. `current_call().held` is one."""

    attempt: int
    """The number of the start. Every claim is for one start."""
    claim: str
    """The id of the claim, which the client chose."""
    idempotency_key: str
    """The key of the call, the same for every start of it. Pass it to what the tool calls."""
    until_us: int
    """The end of the lease."""
    external_id: str | None
    labels: dict[str, str]
    confirmation: Any
    """The approver's answer to a gated call, with `payload` if one was given."""

    @staticmethod
    def of(raw: JsonObject) -> ClaimedCall:
        """Reads a claimed call."""
        return ClaimedCall(
            session=member(raw, "session", str),
            call=member(raw, "call", int),
            attempt=member(raw, "attempt", int),
            claim=member(raw, "claim", str),
            agent=member(raw, "agent", str),
            tool=member(raw, "tool", str),
            args=dict(obj(raw.get("args"))),
            idempotency_key=member(raw, "idempotency_key", str),
            until_us=member(raw, "until_us", int),
            external_id=optional(raw, "external_id", str),
            labels=strings(raw, "labels"),
            confirmation=raw.get("confirmation"),
            raw=raw,
        )


@dataclass(frozen=True, kw_only=True)
class Confirmation(OfAgentCall):
    """A confirmation request that waits for an approver.

    ```python
    for waiting in client.pending():
        if isinstance(waiting, Confirmation) and waiting.about == "gate":
            client.approve(waiting, reason="spoke to the customer")
    ```
    """

    request: str
    """The id, for the answer."""
    hint: str | None
    """The text for the approver."""
    about: str | None
    """The question: `gate` (may it run), `in_doubt` (may it run again) or `tool` (its own)."""
    request_hash: str | None
    """The hash, for an answer that counts for this request alone."""
    expires_at_us: int | None

    @staticmethod
    def of(raw: JsonObject) -> Confirmation:
        """Reads a confirmation request."""
        return Confirmation(
            request=member(raw, "request", str),
            session=member(raw, "session", str),
            agent=member(raw, "agent", str),
            call=member(raw, "call", int),
            tool=member(raw, "tool", str),
            args=raw.get("args"),
            hint=optional(raw, "hint", str),
            about=optional(raw, "about", str),
            request_hash=optional(raw, "request_hash", str),
            expires_at_us=optional(raw, "expires_at_us", int),
            raw=raw,
        )


@dataclass(frozen=True, kw_only=True)
class Paused(OfAgentCall):
    """A call that waits for its result from outside.

    ```python
    for waiting in client.pending():
        if isinstance(waiting, Paused):
            client.resume(waiting.ref).respond({"parcel": 9})
    ```
    """

    call_id: str

    @staticmethod
    def of(raw: JsonObject) -> Paused:
        """Reads a paused call."""
        return Paused(
            call_id=member(raw, "call_id", str),
            session=member(raw, "session", str),
            agent=member(raw, "agent", str),
            call=member(raw, "call", int),
            tool=member(raw, "tool", str),
            args=raw.get("args"),
            raw=raw,
        )


Waiting = Confirmation | Paused
"""An entry of the listing of what waits for an answer from outside."""


def waiting_of(raw: JsonObject) -> Waiting:
    """Reads an entry of the pending listing."""
    if "confirmation" in raw:
        return Confirmation.of(obj(raw["confirmation"]))
    return Paused.of(obj(raw.get("paused")))


def request_id(request: Confirmation | str) -> str:
    """Returns the id of a confirmation request."""
    return request if isinstance(request, str) else request.request
