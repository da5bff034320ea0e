"""The examples, each with a scripted model and a person who answers."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import langgraph_node
import openai_agents_tool
import plain_loop
from conftest import PATIENCE_S, Bench, Connect
from recount_client import AsyncRecount, Confirmation, Recount
from recount_client.testing import assert_called
from scripted import refunding

SAID = "Order 17 has its money back."


@contextmanager
def person(client: Recount, *, approves: bool) -> Iterator[None]:
    """A person who answers the next request."""

    def answer() -> None:
        while True:
            for waiting in client.pending():
                assert isinstance(waiting, Confirmation)
                if approves:
                    client.approve(waiting)
                else:
                    client.deny(waiting, reason="not this one")
                return

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    yield
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


@pytest.mark.parametrize("approves", [True, False])
def test_plain_loop(client: Recount, connect: Connect, approves: bool) -> None:
    plain_loop.gated(client)
    session, model = client.open_session("shop"), refunding()
    with person(connect("approver"), approves=approves), client.worker(poll_s=1):
        assert plain_loop.converse(model, session) == SAID
    outcome = "returned" if approves else "denied"
    assert_called(session, "refund", args={"order": 17}, outcome=outcome, times=1)
    assert ("not this one" in str(model.told[1])) is not approves


def test_langgraph_node(client: Recount, connect: Connect) -> None:
    plain_loop.gated(client)
    session, model = client.open_session("shop"), refunding()
    with person(connect("approver"), approves=True), client.worker(poll_s=1):
        assert langgraph_node.converse(client, model, session.id) == SAID
    assert json.loads(model.told[1])["refunded"] == 17
    # From a checkpoint, the same node joins the same call.
    assert langgraph_node.converse(client, refunding(), session.id) == SAID
    assert_called(session, "refund", outcome="returned", times=1)


def test_openai_agents_tool(bench: Bench, client: Recount, connect: Connect) -> None:
    session = client.open_session("shop")

    async def converse() -> str:
        async with AsyncRecount(bench.url, bench.token("operator")) as other:
            within = other.session(session.id)
            return await openai_agents_tool.converse(other, refunding(), within)

    with person(connect("approver"), approves=True):
        assert asyncio.run(converse()) == SAID
    assert_called(session, "refund", args={"order": 17}, outcome="returned", times=1)
