"""The operations of the API as requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .calls import CallState, ClaimedCall, Confirmation, Waiting, request_id, waiting_of
from .errors import RecountError
from .models import Hold, Leave, Me, OnRecord, Pause, Record, SessionInfo
from .problems import problem_of
from .reading import JsonObject, many, member, obj
from .requests import Repeat, Request, Response, get, path, post, present
from .streams import Event

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a listing."""

    items: tuple[T, ...]
    next: str | None
    """The cursor of the next page."""


@dataclass(frozen=True)
class OneOutcome:
    """The outcome of one of several answers: a record, or an exception.

    ```python
    for outcome in client.answer_all(requests, confirmed=False, reason="on hold"):
        print(outcome.request, outcome.problem or "denied")
    ```
    """

    request: str
    done: OnRecord | None
    problem: RecountError | None

    @staticmethod
    def of(raw: JsonObject) -> OneOutcome:
        """Reads an outcome."""
        done, failed = raw.get("done"), raw.get("refused") or raw.get("error")
        problem = problem_of(member(raw, "status", int), obj(failed)) if failed else None
        record = OnRecord.of(obj(done)) if done else None
        return OneOutcome(member(raw, "request", str), record, problem)


def _page(read: Callable[[JsonObject], T]) -> Callable[[Response], Page[T]]:
    def page(response: Response) -> Page[T]:
        found = obj(response.json)
        cursor = found.get("next")
        return Page(many(found, "items", read), None if cursor is None else str(cursor))

    return page


def _one(read: Callable[[JsonObject], T]) -> Callable[[Response], T]:
    return lambda response: read(obj(response.json))


_on_record = _one(OnRecord.of)


def _outcomes(response: Response) -> list[OneOutcome]:
    return list(many(obj(response.json), "items", OneOutcome.of))


def _labels(labels: Mapping[str, str] | None) -> list[str]:
    return [f"{name}:{value}" for name, value in (labels or {}).items()]


def me() -> Request[Me]:
    """The caller."""
    return get("/v1/me", _one(Me.of))


def open_session(
    agent: str,
    external_id: str | None,
    on_behalf_of: str | None,
    labels: Mapping[str, str] | None,
) -> Request[SessionInfo]:
    """Opens a session."""
    body = present(
        agent=agent,
        external_id=external_id,
        on_behalf_of=on_behalf_of,
        labels=dict(labels) if labels else None,
    )
    # A service that was killed has forgotten the key, and would open a second session.
    read = _one(SessionInfo.of)
    return post("/v1/sessions", read, body, repeat=Repeat.ONCE)


def sessions(
    *,
    agent: str | None,
    labels: Mapping[str, str] | None,
    state: str | None,
    since: str | int | None,
    until: str | int | None,
    text: str | None,
    cursor: str | None,
) -> Request[Page[SessionInfo]]:
    """A page of sessions."""
    query = {
        "agent": agent,
        "label": _labels(labels),
        "state": state,
        "since": since,
        "until": until,
        "text": text,
        "cursor": cursor,
    }
    return get("/v1/sessions", _page(SessionInfo.of), query)


def session(identifier: str) -> Request[SessionInfo]:
    """A session."""
    return get(path("sessions", identifier), _one(SessionInfo.of))


def state(identifier: str, at: int | None) -> Request[JsonObject]:
    """The state of a session as of a record."""
    return get(path("sessions", identifier, "state"), _one(dict), {"at": at})


def records(identifier: str, first: int, limit: int) -> Request[Page[Record]]:
    """A page of records."""
    query = {"from": first, "limit": limit}
    return get(path("sessions", identifier, "records"), _page(Record.of), query)


def record_events(identifier: str, first: int) -> Request[Response]:
    """The stream of the records of a session."""
    return get(path("sessions", identifier, "events"), lambda response: response, {"from": first})


def pending_events(
    agent: str | None, labels: Mapping[str, str] | None, only: str | None
) -> Request[Response]:
    """The stream of what waits for an answer."""
    query = {"agent": agent, "label": _labels(labels), "session": only, "limit": 1000}
    return get("/v1/pending/events", lambda response: response, query)


def waiting_in(event: Event) -> tuple[Waiting, ...]:
    """Reads what waits from an event."""
    return many(obj(event.json()), "items", waiting_of)


def calls(identifier: str, cursor: str | None) -> Request[Page[JsonObject]]:
    """A page of calls."""
    where = path("sessions", identifier, "calls")
    return get(where, _page(dict), {"cursor": cursor})


def close_session(identifier: str, reason: str) -> Request[OnRecord]:
    """Closes a session."""
    return post(path("sessions", identifier, "close"), _on_record, {"reason": reason})


def pending(
    agent: str | None, labels: Mapping[str, str] | None, only: str | None, cursor: str | None
) -> Request[Page[Waiting]]:
    """A page of what waits for an answer."""
    query = {"agent": agent, "label": _labels(labels), "session": only, "cursor": cursor}
    return get("/v1/pending", _page(waiting_of), query)


def answer(
    request: Confirmation | str,
    *,
    confirmed: bool,
    reason: str | None = None,
    payload: Any = None,
    args: Mapping[str, Any] | None = None,
    allow_for: Mapping[str, int] | None = None,
) -> Request[OnRecord]:
    """An answer. That to a `Confirmation` counts only for the request that was seen."""
    seen = None if isinstance(request, str) else request.request_hash
    body = present(
        confirmed=confirmed,
        reason=reason,
        payload=payload,
        args=dict(args) if args is not None else None,
        allow_for=dict(allow_for) if allow_for is not None else None,
        request_hash=seen,
    )
    return post(path("requests", request_id(request), "answer"), _on_record, body)


def finding(*, done: Any = None, failed: str | None = None) -> dict[str, Any]:
    """Returns the outcome that was found: the result, or the reason of the failure.

    Raises:
        ValueError: There is not exactly one of them.
    """
    if (done is None) == (failed is None):
        raise ValueError("expected either done or failed")
    return {"done": done} if failed is None else {"failed": failed}


def settle(request: Confirmation | str, finding: Mapping[str, Any]) -> Request[OnRecord]:
    """The outcome that was found for a call in doubt."""
    where = path("requests", request_id(request), "answer")
    return post(where, _on_record, {"found": dict(finding)})


def answer_all(
    requests: Iterable[Confirmation | str], *, confirmed: bool, reason: str | None
) -> Request[list[OneOutcome]]:
    """One answer to several requests."""
    given = present(confirmed=confirmed, reason=reason)
    body = {"requests": [request_id(it) for it in requests], "answer": given}
    return post("/v1/answers", _outcomes, body)


def deny_all(identifier: str, reason: str | None) -> Request[list[OneOutcome]]:
    """The denial of all open requests of a session."""
    return post(path("sessions", identifier, "deny-all"), _outcomes, present(reason=reason))


def leaves() -> Request[Page[Leave]]:
    """The standing leaves in force."""
    return get("/v1/leaves", _page(Leave.of))


def revoke(leave: Leave, reason: str | None) -> Request[OnRecord]:
    """The end of a standing leave."""
    where = path("sessions", leave.session, "leaves", leave.leave, "revoke")
    return post(where, _on_record, present(reason=reason))


def pauses() -> Request[Page[Pause]]:
    """The pauses in force."""
    return get("/v1/pauses", _page(Pause.of))


def pause(target: object, reason: str | None, *, cancel_running: bool) -> Request[OnRecord]:
    """The beginning of a pause."""
    body = present(target=target, reason=reason, cancel_running=cancel_running)
    return post("/v1/pause", _on_record, body)


def unpause(target: object, reason: str | None) -> Request[OnRecord]:
    """The end of a pause."""
    return post("/v1/unpause", _on_record, present(target=target, reason=reason))


def holds() -> Request[Page[Hold]]:
    """The legal holds in force."""
    return get("/v1/holds", _page(Hold.of))


def hold(target: object, reason: str) -> Request[OnRecord]:
    """The beginning of a legal hold."""
    return post("/v1/hold", _on_record, present(target=target, reason=reason))


def unhold(hold: int, reason: str) -> Request[OnRecord]:
    """The end of a legal hold."""
    return post("/v1/unhold", _on_record, present(hold=hold, reason=reason))


def respond(
    identifier: str, call: int | str, response: Mapping[str, Any], *, interim: bool
) -> Request[OnRecord]:
    """The result of a call that waits for it."""
    body = {"response": dict(response), "interim": interim}
    # Every interim result counts; the last one counts once.
    repeat = Repeat.ONCE if interim else Repeat.KEYED
    where = path("sessions", identifier, "calls", call, "respond")
    return post(where, _on_record, body, repeat=repeat)


def reconcile(identifier: str, call: int | str, finding: Mapping[str, Any]) -> Request[OnRecord]:
    """The outcome that was found for a call that ended as unknown."""
    where = path("sessions", identifier, "calls", call, "reconcile")
    return post(where, _on_record, {"found": dict(finding)})


def cancel(identifier: str, call: int | str, reason: str | None) -> Request[OnRecord]:
    """The cancellation of a call."""
    where = path("sessions", identifier, "calls", call, "cancel")
    return post(where, _on_record, present(reason=reason))


def start_call(
    identifier: str, tool: str, args: Mapping[str, Any], key: str | None, wait: int
) -> Request[CallState]:
    """A call of a tool by a program. The service knows its key for the life of the session."""
    body = {"tool": tool, "args": dict(args)}
    where = path("sessions", identifier, "calls")
    return post(where, _one(CallState.of), body, key=key, prefer_wait=wait)


def call_state(identifier: str, call: int | str, wait: int) -> Request[CallState]:
    """A call, as soon as it has ended or the time has passed."""
    where = path("sessions", identifier, "calls", call)
    return get(where, _one(CallState.of), wait=wait)


def claim(
    claim_id: str,
    *,
    tools: Sequence[str],
    agents: Sequence[str],
    labels: Mapping[str, str],
    lease_ms: int,
    wait: int,
) -> Request[ClaimedCall | None]:
    """A claim of the oldest ready call that this client can run."""

    def read(response: Response) -> ClaimedCall | None:
        return None if response.status == 204 else ClaimedCall.of(obj(response.json))

    body = present(
        claim=claim_id,
        tools=list(tools),
        agents=list(agents) or None,
        labels=dict(labels) or None,
        lease_ms=lease_ms,
        wait=wait,
    )
    # A worker waits itself while the service is not there, so that it can be stopped meanwhile.
    return post("/v1/claims", read, body, key=claim_id, repeat=Repeat.LOST, wait=wait)


def _claimed(
    held: ClaimedCall,
    action: str,
    body: Mapping[str, object],
    *,
    key: str | None = None,
    repeat: Repeat = Repeat.KEYED,
) -> Request[OnRecord]:
    where = path("sessions", held.session, "calls", held.call, "claim", action)
    body = {"attempt": held.attempt, "claim": held.claim, **body}
    return post(where, _on_record, body, key=key, repeat=repeat)


def renew(held: ClaimedCall, lease_ms: int) -> Request[OnRecord]:
    """The renewal of a lease."""
    return _claimed(held, "renew", {"lease_ms": lease_ms})


def finish(held: ClaimedCall, result: object) -> Request[OnRecord]:
    """The result of a claimed call. Null is a result, too."""
    return _claimed(held, "finish", {"result": result}, key=f"{held.claim}/finish")


def fail(held: ClaimedCall, reason: str) -> Request[OnRecord]:
    """The failure of a claimed call."""
    return _claimed(held, "fail", {"failed": reason}, key=f"{held.claim}/fail")


def release(held: ClaimedCall, reason: str, *, not_begun: bool) -> Request[OnRecord]:
    """The end of a claim without a result."""
    return _claimed(held, "release", {"reason": reason, "not_begun": not_begun})


def yield_result(held: ClaimedCall, response: object) -> Request[OnRecord]:
    """One of several results of a claimed call. Each one counts."""
    return _claimed(held, "yield", {"response": response}, repeat=Repeat.ONCE)


def report(held: ClaimedCall, name: str, data: object) -> Request[OnRecord]:
    """An event of a claimed call. Each one counts."""
    return _claimed(held, "report", {"name": name, "data": data}, repeat=Repeat.ONCE)
