"""Calls: their results, their keys, and waiting for them."""

from __future__ import annotations

import threading

import pytest

from conftest import PATIENCE_S, Bench, Connect
from recount_client import (
    CallCancelled,
    CallFailed,
    CallState,
    Conflict,
    KeyReused,
    NotFound,
    NotYet,
    Paused,
    Recount,
    Retry,
    Session,
    Unreachable,
)


def test_result_of_a_tool_of_the_service(session: Session) -> None:
    assert session.call("add", {"a": 2, "b": 3}) == {"output": 5}


def test_same_key_is_the_same_call(session: Session) -> None:
    first = session.start("add", {"a": 1, "b": 1}, key="sum-1", wait=20)
    again = session.start("add", {"b": 1, "a": 1}, key="sum-1", wait=20)
    assert (again.call, again.wait().repeated) == (first.call, True)
    assert not first.wait().repeated
    opened = [session.start("refund", {"order": 17}, key="refund-17") for _ in range(2)]
    assert [it.state().repeated for it in opened] == [False, True]
    assert [it.repeated for it in opened] == [False, True]
    assert len(list(session.calls())) == 2
    with pytest.raises(KeyReused) as other:
        session.start("add", {"a": 1, "b": 2}, key="sum-1")
    assert other.value.code == "key-reused"


def test_unknown_tool_is_a_failed_call(session: Session) -> None:
    with pytest.raises(CallFailed) as failed:
        session.call("fly", {})
    assert failed.value.outcome == "refused"
    assert "fly" in failed.value.error


def test_open_call_is_not_yet_ended(session: Session) -> None:
    with pytest.raises(NotYet) as open_call:
        session.call("refund", {"order": 17}, timeout=0)
    assert open_call.value.call_ref.startswith(f"{session.id}/")


def test_call_is_resumed_by_its_reference(bench: Bench, connect: Connect, session: Session) -> None:
    ref = session.start("refund", {"order": 17}).ref
    bench.kill()
    bench.start()
    later = connect()
    call = later.resume(ref)
    request = call.state().request
    assert request is not None
    later.deny(request, reason="too old")
    with pytest.raises(CallFailed, match="too old"):
        call.wait().result()


def test_wait_outlasts_a_restart_of_the_service(
    bench: Bench, connect: Connect, session: Session
) -> None:
    client = connect(retry=Retry.none())
    call = client.session(session.id).start("refund", {"order": 17})
    request = call.state().request
    assert request is not None
    bench.kill()
    with pytest.raises(Unreachable, match=bench.url):
        call.wait(timeout=0)
    # This one has had no response, so its address may be wrong.
    with pytest.raises(Unreachable):
        client.resume(call.ref).wait()
    ended: list[CallState] = []
    thread = threading.Thread(target=lambda: ended.append(call.wait()), daemon=True)
    thread.start()
    bench.start()
    connect().deny(request)
    thread.join(PATIENCE_S)
    assert [it.outcome for it in ended] == ["denied"]


def test_call_is_known_by_its_id_too(client: Recount, session: Session) -> None:
    state = session.start("add", {"a": 1, "b": 1}, wait=20).wait()
    by_id = client.resume(f"{session.id}/{state.call_id}")
    assert by_id.wait().call == state.call


def test_paused_call_gets_its_result_from_outside(client: Recount, session: Session) -> None:
    call = session.start("ship", {})
    [paused] = _paused(client, session, call.call)
    assert (paused.tool, paused.call) == ("ship", call.call)
    call.respond({"parcel": 9})
    assert call.wait().result() == {"parcel": 9}
    with pytest.raises(Conflict):
        call.respond({"parcel": 10})


def _paused(client: Recount, session: Session, call: int | str) -> list[Paused]:
    """Waits until the call is paused, by looking at it until then."""
    while True:
        found = [it for it in client.pending(session=session) if isinstance(it, Paused)]
        if found:
            return found
        client.resume(f"{session.id}/{call}").state()


def test_cancelled_call_says_so(session: Session) -> None:
    call = session.start("refund", {"order": 17})
    call.cancel("ordered twice")
    with pytest.raises(CallCancelled, match="operator cancelled"):
        call.wait().result()


def test_unknown_call_is_not_found(client: Recount, session: Session) -> None:
    with pytest.raises(NotFound) as unknown:
        client.resume(f"{session.id}/9999").state()
    assert unknown.value.code == "unknown-call"


@pytest.mark.parametrize("ref", ["", "session", "/5", "session/", "a/b/c"])
def test_malformed_reference_is_refused(client: Recount, ref: str) -> None:
    with pytest.raises(ValueError, match="SESSION/CALL"):
        client.resume(ref)
