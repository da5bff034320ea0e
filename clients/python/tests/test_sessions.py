"""Sessions: opened, listed, read and closed."""

from __future__ import annotations

import pytest

from conftest import Bench, Connect
from recount_client import (
    Forbidden,
    NotFound,
    Recount,
    Session,
    Unauthenticated,
    Unavailable,
)


def test_session_has_what_it_was_opened_with(client: Recount) -> None:
    opened = client.open_session(
        "shop", external_id="order-17", on_behalf_of="carol", labels={"tenant": "acme"}
    )
    info = opened.info()
    assert (info.session, info.agent, info.external_id) == (opened.id, "shop", "order-17")
    assert (info.on_behalf_of, info.labels, info.closed) == ("carol", {"tenant": "acme"}, False)


def test_listing_filters_and_continues_over_pages(client: Recount) -> None:
    opened = [client.open_session("shop", external_id=f"order-{n}").id for n in range(60)]
    client.open_session("billing")
    assert [it.session for it in client.sessions(agent="shop")] == opened[::-1]
    assert [it.session for it in client.sessions(text="order-59")] == opened[-1:]
    assert list(client.sessions(labels={"tenant": "initech"})) == []


def test_records_and_state_are_read(session: Session) -> None:
    session.call("add", {"a": 2, "b": 3})
    records = list(session.records(page=2))
    assert [it.seq for it in records] == list(range(1, len(records) + 1))
    assert records[0].kind == "session_opened"
    assert records[0].body["agent"] == "shop"
    assert session.state()["seq"] == len(records)
    assert session.state(at=1)["kind"] == "session_opened"
    assert [it["tool"] for it in session.calls()] == ["add"]


def test_closed_session_takes_no_call(client: Recount, session: Session) -> None:
    assert session.close("the order is done").session == session.id
    assert [it.session for it in client.sessions(state="closed")] == [session.id]
    assert session.info().closed


def test_caller_is_the_token(connect: Connect) -> None:
    me = connect("approver").me()
    assert (me.actor.name, me.actor.authenticated_by) == ("approver", "token")
    assert me.grants[0]["role"] == "approver"


def test_problem_has_the_class_of_its_status(bench: Bench, connect: Connect) -> None:
    with pytest.raises(NotFound) as unknown:
        connect().session("0199e2a0-0000-7000-8000-000000000001").info()
    assert unknown.value.code == "unknown-session"
    with pytest.raises(Forbidden) as role:
        connect("viewer").open_session("shop")
    assert role.value.status == 403
    with Recount(bench.url, "rct_unknown") as stranger, pytest.raises(Unauthenticated):
        stranger.me()


def test_tenant_sees_its_sessions_alone(connect: Connect) -> None:
    everything = connect()
    everything.open_session("shop", labels={"tenant": "globex"})
    own = everything.open_session("shop", labels={"tenant": "acme"})
    assert [it.session for it in connect("acme").sessions()] == [own.id]


def test_draining_service_refuses_changes(bench: Bench, connect: Connect) -> None:
    client = connect(retry=None)
    client._transport._pause = lambda _: None
    bench.drain()
    with pytest.raises(Unavailable) as draining:
        client.open_session("shop")
    assert (draining.value.code, draining.value.retry_after) == ("draining", 5)
