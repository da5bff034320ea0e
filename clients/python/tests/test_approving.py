"""Answers: one, several, the ones that come late, standing leaves and pauses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conftest import Connect
from recount_client import (
    AlreadyDecided,
    CallDenied,
    Confirmation,
    Forbidden,
    HashMismatch,
    NotFound,
    Recount,
    Session,
)


def asked(client: Recount, session: Session, tool: str = "mail") -> Confirmation:
    session.start(tool, {"order": 17} if tool == "refund" else {})
    found = [it for it in client.pending(session=session) if isinstance(it, Confirmation)]
    return found[-1]


def test_request_shows_what_it_binds(client: Recount, session: Session) -> None:
    request = asked(client, session, "refund")
    assert (request.tool, request.args) == ("refund", {"order": 17})
    assert (request.hint, request.session) == ("Refund this order?", session.id)
    assert request.about == "gate"
    assert request.request_hash is not None


def test_approved_call_runs(connect: Connect, client: Recount, session: Session) -> None:
    call = session.start("mail", {})
    request = call.state().request
    assert request is not None
    answered = connect("approver").approve(request, reason="fine")
    assert (answered.by.name, answered.missing) == ("approver", 0)
    assert call.wait().result() == {"sent": True}
    assert list(client.pending(session=session)) == []


def test_denied_call_fails_with_the_reason(client: Recount, session: Session) -> None:
    call = session.start("mail", {})
    request = call.state().request
    assert request is not None
    client.deny(request, reason="not now")
    with pytest.raises(CallDenied, match="not now") as denied:
        call.wait().result()
    assert denied.value.outcome == "denied"


def test_second_answer_names_the_first(connect: Connect, client: Recount, session: Session) -> None:
    request = asked(client, session)
    first = connect("approver").deny(request)
    with pytest.raises(AlreadyDecided) as late:
        client.approve(request)
    problem = late.value
    assert (problem.code, problem.status, problem.at) == ("already-answered", 409, first.seq)
    assert problem.by is not None
    assert (problem.by.name, problem.confirmed) == ("approver", False)
    assert problem.at_us is not None


def test_answer_counts_for_the_request_that_was_seen(client: Recount, session: Session) -> None:
    request = asked(client, session)
    with pytest.raises(HashMismatch):
        client.approve(replace(request, request_hash="0" * 64))
    assert client.approve(request).tool == "mail"


def test_several_answers_have_an_outcome_each(client: Recount, session: Session) -> None:
    requests = [asked(client, session) for _ in range(3)]
    client.approve(requests[0])
    outcomes = client.answer_all(requests, confirmed=False, reason="on hold")
    assert [it.done is None for it in outcomes] == [True, False, False]
    assert isinstance(outcomes[0].problem, AlreadyDecided)


def test_deny_all_ends_every_open_request(client: Recount, session: Session) -> None:
    for _ in range(2):
        asked(client, session)
    assert all(it.done for it in session.deny_all("on hold"))
    assert list(client.pending(session=session)) == []


def test_viewer_may_not_answer(connect: Connect, client: Recount, session: Session) -> None:
    request = asked(client, session)
    viewer = connect("viewer")
    assert list(viewer.pending()) == [request]
    with pytest.raises(Forbidden) as missing:
        viewer.approve(request)
    assert missing.value.code == "role-missing"


def test_foreign_request_does_not_exist(connect: Connect, client: Recount) -> None:
    foreign = asked(client, client.open_session("shop", labels={"tenant": "globex"}))
    acme = connect("acme")
    assert list(acme.pending()) == []
    with pytest.raises(NotFound) as unknown:
        acme.approve(foreign)
    assert unknown.value.code == "unknown-request"


def test_standing_leave_allows_later_calls(client: Recount, session: Session) -> None:
    client.approve(asked(client, session), allow_for={"count": 2})
    assert session.call("mail", {}) == {"sent": True}
    [leave] = client.leaves()
    assert (leave.tool, leave.used) == ("mail", 1)
    client.revoke(leave, reason="end of the shift")
    assert client.leaves() == ()


def test_hold_is_listed_until_it_is_released(client: Recount, session: Session) -> None:
    placed = client.hold({"session": session.id}, reason="case 7")
    by_label = client.hold({"label": {"key": "case", "value": "8"}}, reason="case 8")
    found = {it.hold: it for it in client.holds()}
    assert found[placed.seq].target == {"session": session.id}
    assert (found[placed.seq].reason, found[placed.seq].by.name) == ("case 7", placed.by.name)
    assert found[by_label.seq].target == {"label": {"key": "case", "value": "8"}}
    for hold in (placed.seq, by_label.seq):
        client.unhold(hold, reason="closed")
        assert hold not in {it.hold for it in client.holds()}


def test_pause_holds_a_session(client: Recount, session: Session) -> None:
    target = {"session": session.id}
    client.pause(target, reason="wrong prices")
    [pause] = client.pauses()
    assert (pause.session, pause.reason) == (session.id, "wrong prices")
    call = session.start("add", {"a": 1, "b": 1})
    assert not call.state().ended
    client.unpause(target)
    assert call.wait().result() == {"output": 2}
