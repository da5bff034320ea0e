"""The values of calls: their outcomes, and the calls that a client has claimed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .errors import CallCancelled, CallDenied, CallFailed, NotYet, UnexpectedResponse
from .models import Confirmation
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


@dataclass(frozen=True)
class CallState:
    """A call, as far as it has come."""

    session: str
    call: int
    """The seq of the call's record."""
    call_id: str
    tool: str
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
    raw: JsonObject = field(repr=False, compare=False)

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
    def ref(self) -> str:
        """The reference of the call."""
        return call_ref(self.session, self.call)

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


@dataclass(frozen=True)
class ClaimedCall:
    """A call that this client holds for a lease."""

    session: str
    call: int
    attempt: int
    """The number of the start. Every claim is for one start."""
    claim: str
    """The id of the claim, which the client chose."""
    agent: str
    tool: str
    args: dict[str, Any]
    idempotency_key: str
    """The key of the call, the same for every start of it. Pass it to what the tool calls."""
    until_us: int
    """The end of the lease."""
    external_id: str | None
    labels: dict[str, str]
    confirmation: Any
    """The approver's answer to a gated call, with `payload` if one was given."""
    raw: JsonObject = field(repr=False, compare=False)

    @property
    def ref(self) -> str:
        """The reference of the call."""
        return call_ref(self.session, self.call)

    @staticmethod
    def of(raw: JsonObject) -> ClaimedCall:
        """Reads a claimed call."""
        return ClaimedCall(
            member(raw, "session", str),
            member(raw, "call", int),
            member(raw, "attempt", int),
            member(raw, "claim", str),
            member(raw, "agent", str),
            member(raw, "tool", str),
            dict(obj(raw.get("args"))),
            member(raw, "idempotency_key", str),
            member(raw, "until_us", int),
            optional(raw, "external_id", str),
            strings(raw, "labels"),
            raw.get("confirmation"),
            raw=raw,
        )


def request_id(request: Confirmation | str) -> str:
    """Returns the id of a confirmation request."""
    return request if isinstance(request, str) else request.request
