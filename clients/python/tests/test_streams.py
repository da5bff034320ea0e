"""Streams: the rules of the format, and the continuation of a stream that was cut off."""

from __future__ import annotations

import asyncio
import contextlib

import httpx
import pytest

from conftest import Bench
from recount_client import (
    AsyncRecount,
    Confirmation,
    Gone,
    NotFound,
    Recount,
    Retry,
    Session,
    UnexpectedResponse,
)
from recount_client.streams import Event, Parser, Reader

WHOLE = b'id: 1\nevent: record\ndata: {"a":1}\n\n: ping\n\ndata: x\ndata: y\n\nid: 3\ndata: cut'
EVENTS = [Event("record", '{"a":1}', "1"), Event("message", "x\ny", "1")]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_events_do_not_depend_on_chunks_and_line_ends(end: bytes, size: int) -> None:
    parser, text = Parser(), WHOLE.replace(b"\n", end)
    found = [it for at in range(0, len(text), size) for it in parser.feed(text[at : at + size])]
    assert found == EVENTS
    assert parser.last_id == "1"


def test_details_of_the_format() -> None:
    parser = Parser("before")
    assert parser.feed(b"\xef\xbb\xbfdata:no blank\nunknown: x\ndata\n\n") == [
        Event("message", "no blank\n", "before")
    ]
    assert parser.feed("data: ü\n\n".encode()[:7]) == []
    assert parser.feed("data: ü\n\n".encode()[7:]) == [Event("message", "ü", "before")]
    assert parser.feed(b"id: 4\n\n") == []
    assert parser.last_id == "4"
    parser.feed(b"retry: 250\nid: with\0null\n\n")
    assert parser.last_id == "4"


def test_event_without_end_is_refused() -> None:
    parser = Parser()
    for _ in range(16):
        parser.feed(b"x" * (1 << 20))
    with pytest.raises(UnexpectedResponse, match="too large"):
        parser.feed(b"x")


def test_data_that_is_no_json_is_unexpected() -> None:
    assert Event("record", '{"a":1}', "1").json() == {"a": 1}
    with pytest.raises(UnexpectedResponse):
        Event("record", "{", "1").json()


def test_end_says_if_more_will_come() -> None:
    for reason, over, expired in (
        ("closed", True, False),
        ("expired", False, True),
        ("draining", False, False),
    ):
        reader = Reader()
        assert reader.feed(f'event: end\ndata: {{"reason":"{reason}"}}\n\n'.encode()) == []
        assert (reader.over, reader.expired) == (over, expired)


def test_problem_within_a_stream_is_raised() -> None:
    problem = b'event: problem\ndata: {"status":410,"code":"request-expired"}\n\n'
    with pytest.raises(Gone):
        Reader().feed(problem)


def test_new_connection_drops_what_was_cut_off() -> None:
    reader = Reader()
    assert [it.data for it in reader.feed(b"id: 7\ndata: 7\n\nid: 8\ndata: cut")] == ["7"]
    reader.connected()
    assert reader.last_id == "7"
    assert [it.data for it in reader.feed(b"id: 8\ndata: 8\n\n")] == ["8"]


def test_records_are_followed_over_a_kill(bench: Bench, client: Recount, session: Session) -> None:
    client._transport._pause = lambda _: None
    client._transport.retry = Retry(attempts=1000)
    with contextlib.closing(session.follow()) as records:
        seqs = [next(records).seq]
        session.call("add", {"a": 1, "b": 1})
        seqs.append(next(records).seq)
        bench.kill()
        bench.start()
        session.close("done")
        seqs += [it.seq for it in records]
    assert seqs == list(range(1, len(seqs) + 1))
    assert [it.seq for it in session.follow(first=3)] == seqs[2:]


def test_changes_of_what_waits_are_watched(client: Recount, session: Session) -> None:
    with contextlib.closing(client.watch_pending(session=session)) as changes:
        assert next(changes) == ()
        session.start("refund", {"order": 17})
        [request] = next(changes)
        assert isinstance(request, Confirmation)
        client.deny(request)
        assert next(changes) == ()


def test_async_streams_are_the_same(bench: Bench, session: Session) -> None:
    session.start("refund", {"order": 17})
    session.close("done")

    async def read() -> list[int]:
        async with AsyncRecount(bench.url, bench.token("operator")) as client:
            async for waiting in client.watch_pending():
                assert waiting == ()
                break
            return [it.seq async for it in client.session(session.id).follow()]

    seqs = asyncio.run(read())
    assert seqs == [it.seq for it in session.records()]


def test_refused_stream_is_a_problem(client: Recount) -> None:
    unknown = client.session("0199e2a0-0000-7000-8000-000000000001")
    with pytest.raises(NotFound):
        next(unknown.follow())


def test_response_that_is_no_stream_is_unexpected() -> None:
    page = httpx.MockTransport(lambda _: httpx.Response(200, text="<html>"))
    client = Recount("http://127.0.0.1:1", transport=page)
    with client, pytest.raises(UnexpectedResponse, match="event-stream"):
        next(client.watch_pending())
