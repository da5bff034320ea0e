"""Workers: calls that are claimed, run once, renewed, reported and given back."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from conftest import PATIENCE_S, Bench, Connect
from recount_client import (
    CallFailed,
    ClaimedCall,
    Recount,
    RecountError,
    Retry,
    RunningCall,
    Session,
    ToolFailure,
    Unauthenticated,
    Worker,
    current_call,
)
from recount_client.claiming import AGAIN_S
from recount_client.problems import problem_of
from recount_client.running import RunEnd
from relay import relay

# The time between two renewals of a lease of 60 s.
RENEWAL_S = 20.0


class Ticks:
    """The time of a worker: each of its waits passes when the test says so."""

    def __init__(self, worker: Worker) -> None:
        self._passed: dict[float, queue.Queue[bool]] = {RENEWAL_S: queue.Queue()}
        self._passed[AGAIN_S] = queue.Queue()
        worker._wait_event = self._wait

    def _wait(self, event: threading.Event, seconds: float) -> bool:
        return event.is_set() or self._passed[seconds].get(timeout=PATIENCE_S)

    def tick(self, seconds: float) -> None:
        self._passed[seconds].put(False)

    def end(self) -> None:
        """Ends the renewals, whose run has ended."""
        self._passed[RENEWAL_S].put(True)


class Tool:
    """A tool whose function runs until the test lets it end."""

    def __init__(self, client: Recount, name: str) -> None:
        self.runs: list[dict[str, Any]] = []
        self.calls: queue.Queue[RunningCall] = queue.Queue()
        self._results: queue.Queue[Any] = queue.Queue()

        @client.tool(name)
        def function(order: int, note: str = "") -> dict[str, Any]:
            self.runs.append({"order": order, "note": note})
            self.calls.put(current_call())
            found = self._results.get(timeout=PATIENCE_S)
            if isinstance(found, Exception):
                raise found
            return {"done": found}

        self.tool = function

    def begun(self) -> RunningCall:
        return self.calls.get(timeout=PATIENCE_S)

    def let_end(self, result: Any) -> None:
        self._results.put(result)


def kinds(session: Session) -> list[str]:
    return [it.kind for it in session.records()]


@pytest.fixture
def packing(client: Recount) -> Tool:
    return Tool(client, "pack")


def in_thread(worker: Worker) -> threading.Thread:
    """Runs one call beside the test."""
    thread = threading.Thread(target=worker.run_one, daemon=True)
    thread.start()
    return thread


def test_function_runs_as_a_tool(client: Recount, session: Session) -> None:
    seen: list[str] = []

    @client.tool()
    def pack(order: int, note: str = "none") -> dict[str, Any]:
        seen.append(current_call().idempotency_key)
        return {"packed": order, "note": note}

    with client.worker(poll_s=1), session:
        assert pack(order=17) == {"packed": 17, "note": "none"}
        assert pack(18, note="fragile") == {"packed": 18, "note": "fragile"}
    assert len(set(seen)) == 2


def test_result_that_is_no_object_is_returned(client: Recount, session: Session) -> None:
    @client.tool("pack")
    def boxes(order: int) -> int:
        return order * 2

    with client.worker(poll_s=1):
        assert boxes.within(session)(order=3) == 6


def test_gated_function_runs_after_the_approval(client: Recount, session: Session) -> None:
    runs: list[int] = []

    @client.tool()
    def refund(order: int, note: str = "") -> dict[str, Any]:
        runs.append(order)
        return {"refunded": order, "note": note}

    worker = client.worker()
    call = refund.within(session, key="refund-17").start(order=17)
    assert not worker.run_one()
    request = call.state().request
    assert request is not None
    client.approve(request)
    assert worker.run_one()
    assert call.wait().result() == {"refunded": 17, "note": ""}
    again = refund.within(session, key="refund-17")(order=17)
    assert (again["refunded"], runs) == (17, [17])


def test_failure_is_told_and_secrets_are_not(client: Recount, session: Session) -> None:
    errors: list[Exception] = [ToolFailure("out of boxes"), ValueError("password is 1234")]

    @client.tool()
    def pack(order: int) -> dict[str, Any]:
        raise errors[order]

    worker = client.worker()
    told = session.start("pack", {"order": 0})
    hidden = session.start("pack", {"order": 1})
    while worker.run_one():
        pass
    with pytest.raises(CallFailed, match="out of boxes"):
        told.wait().result()
    with pytest.raises(CallFailed, match="raised ValueError") as failed:
        hidden.wait().result()
    assert "1234" not in str(failed.value)


def test_unfit_arguments_and_results_fail_the_call(client: Recount, session: Session) -> None:
    @client.tool()
    def pack(order: int) -> Any:
        return {order}

    worker = client.worker()
    extra = session.start("pack", {"order": 1, "note": "not a parameter"})
    unfit = session.start("pack", {"order": 1})
    while worker.run_one():
        pass
    with pytest.raises(CallFailed, match="does not take it"):
        extra.wait().result()
    with pytest.raises(CallFailed, match="no JSON"):
        unfit.wait().result()


def test_progress_of_a_running_call(client: Recount, session: Session) -> None:
    @client.tool()
    def refund(order: int) -> dict[str, Any]:
        call = current_call()
        call.report("progress", {"percent": 50})
        return {"ref": call.held.ref}

    worker = client.worker()
    call = session.start("refund", {"order": 17})
    request = call.state().request
    assert request is not None
    client.approve(request)
    worker.run_one()
    assert call.wait().result() == {"ref": call.ref}
    assert "tool_event_emitted" in kinds(session)


def test_payload_of_the_approver_comes_with_the_call(client: Recount, session: Session) -> None:
    @client.tool()
    def book(order: int) -> dict[str, Any]:
        return {"order": order, "given": current_call().payload}

    call = session.start("book", {"order": 17})
    request = call.state().request
    assert request is not None
    client.approve(request, payload={"days": 3})
    assert client.worker().run_one()
    assert call.wait().result() == {"order": 17, "given": {"days": 3}}


def test_object_is_never_taken_for_another_result(client: Recount, session: Session) -> None:
    @client.tool("pack")
    def output(order: int) -> dict[str, int]:
        return {"output": order}

    with client.worker(poll_s=1), session:
        assert output(order=3) == {"output": 3}


def test_keyword_arguments_are_members_of_the_object(client: Recount, session: Session) -> None:
    @client.tool()
    def pack(order: int, **more: str) -> dict[str, Any]:
        return {"order": order, **more}

    with client.worker(poll_s=1), session:
        assert pack(17, note="fragile") == {"order": 17, "note": "fragile"}


def test_refused_end_is_reported_for_a_later_start(client: Recount, session: Session) -> None:
    Tool(client, "pack")
    session.start("pack", {"order": 17})
    held = client.worker()._claim(0)
    assert held is not None
    later, end = replace(held, attempt=2), RunEnd({"done": 1})
    stale = problem_of(409, {"code": "stale-attempt"})
    assert end.refused(held, later, stale) is end
    assert end.refused(later, later, stale) is None
    unfit = end.refused(held, held, problem_of(413, {"code": "too-large", "detail": "16 MiB"}))
    assert unfit is not None
    assert unfit.failed == "the function has run, and its result is unfit: 16 MiB"


def test_exit_of_a_function_ends_no_thread(client: Recount, session: Session) -> None:
    ends: list[BaseException] = [SystemExit(1), KeyboardInterrupt()]

    @client.tool()
    def pack(order: int) -> dict[str, Any]:
        if order < len(ends):
            raise ends[order]
        return {"packed": order}

    with client.worker(concurrency=1, poll_s=1):
        for order, error in enumerate(ends):
            with pytest.raises(CallFailed, match=f"raised {type(error).__name__}"):
                session.call("pack", {"order": order})
        assert session.call("pack", {"order": 2}) == {"packed": 2}


def test_traceback_of_a_function_is_logged(
    client: Recount, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    errors: list[Exception] = [ToolFailure("out of boxes"), ValueError("no such order")]

    @client.tool()
    def pack(order: int) -> dict[str, Any]:
        raise errors[order]

    for order in range(len(errors)):
        session.start("pack", {"order": order})
        assert client.worker().run_one()
    [shown] = [it for it in caplog.records if it.levelname == "ERROR"]
    assert shown.name == "recount_client"
    assert shown.exc_info is not None
    assert shown.exc_info[1] is errors[1]


def test_no_call_outside_of_a_worker() -> None:
    with pytest.raises(RuntimeError, match="no worker"):
        current_call()


@pytest.fixture
def running(client: Recount, session: Session, packing: Tool) -> Iterator[Running]:
    made = Running(client, session, packing)
    yield made
    made.ticks.end()
    made.thread.join(PATIENCE_S)
    assert not made.thread.is_alive()


class Running:
    """A call of the tool whose function runs."""

    def __init__(self, client: Recount, session: Session, tool: Tool) -> None:
        self.worker = client.worker(lease_s=60)
        self.ticks = Ticks(self.worker)
        self.call = session.start(tool.tool.name, {"order": 17})
        self.thread = in_thread(self.worker)
        self.run = tool.begun()


def test_lease_is_renewed_while_the_function_runs(
    running: Running, bench: Bench, session: Session, packing: Tool
) -> None:
    for _ in range(3):
        renewals = kinds(session).count("lease_renewed")
        bench.advance(40)
        running.ticks.tick(RENEWAL_S)
        while kinds(session).count("lease_renewed") == renewals:
            pass
    packing.let_end(2)
    assert running.call.wait().result() == {"done": 2}
    assert kinds(session).count("call_started") == 1


def test_cancelled_call_is_seen_by_its_function(running: Running, packing: Tool) -> None:
    running.call.cancel("ordered twice")
    running.ticks.tick(RENEWAL_S)
    assert running.run.wait_cancelled(PATIENCE_S)
    assert running.run.cancelled
    packing.let_end(2)
    with pytest.raises(CallFailed, match="operator cancelled"):
        running.call.wait().result()


def test_second_start_is_answered_by_the_first_run(
    running: Running, bench: Bench, session: Session, packing: Tool
) -> None:
    bench.advance(61)
    # The call is repeatable, so the service hands it out again, and this process has it already.
    assert running.worker.run_one(wait=20)
    assert running.run.held.attempt == 2
    packing.let_end(2)
    assert running.call.wait().result() == {"done": 2}
    assert len(packing.runs) == 1
    assert kinds(session).count("call_started") == 2


def test_result_after_the_lease_still_counts(
    bench: Bench, client: Recount, session: Session
) -> None:
    printing = Tool(client, "print_label")
    running = Running(client, session, printing)
    bench.advance(61)
    while running.call.state().request is None:
        pass
    running.ticks.tick(RENEWAL_S)
    assert running.run._lost.wait(PATIENCE_S)
    printing.let_end(2)
    assert running.call.wait().result() == {"done": 2}
    running.ticks.end()
    running.thread.join(PATIENCE_S)
    assert len(printing.runs) == 1


def test_result_survives_a_kill_of_the_service(
    running: Running, bench: Bench, connect: Connect, packing: Tool
) -> None:
    client = running.worker._transport
    client._pause = lambda _: None
    client.retry = Retry.none()
    bench.kill()
    packing.let_end(2)
    running.ticks.tick(AGAIN_S)
    bench.start()
    running.ticks.tick(AGAIN_S)
    running.ticks.tick(AGAIN_S)
    assert connect().resume(running.call.ref).wait().result() == {"done": 2}
    assert len(packing.runs) == 1


def test_lost_replies_run_nothing_twice(bench: Bench, session: Session) -> None:
    runs: list[int] = []
    with relay(bench.url) as between, Recount(between.url, bench.token("operator")) as client:
        client._transport._pause = lambda _: None

        @client.tool()
        def pack(order: int) -> dict[str, Any]:
            runs.append(order)
            return {"packed": order}

        lost = ["/calls HTTP", "/claims HTTP", "/claim/finish HTTP", "/calls/"]
        for path in lost:
            between.lose_reply_to(path)
        worker = client.worker()
        call = client.session(session.id).start("pack", {"order": 17}, key="pack-17")
        while worker.run_one(wait=1):
            pass
        assert call.wait().result() == {"packed": 17}
        assert len(between.lost) == len(lost)
    assert runs == [17]
    assert kinds(session).count("function_call_received") == 1


def test_claimed_and_not_begun_is_given_back(client: Recount, session: Session) -> None:
    printing = Tool(client, "print_label")
    worker = client.worker(concurrency=1)
    claim = worker._claim

    def stopped_meanwhile(wait: int) -> ClaimedCall | None:
        held = claim(wait)
        worker.request_stop()
        return held

    worker._claim = stopped_meanwhile  # type: ignore[method-assign]
    call = session.start("print_label", {"order": 17})
    worker.start()
    worker.stop()
    assert kinds(session)[-3:] == ["call_claimed", "call_started", "claim_ended"]
    assert (call.state().phase, printing.runs) == ("ready", [])


def test_function_that_outlives_the_grace_is_in_doubt(client: Recount, session: Session) -> None:
    printing = Tool(client, "print_label")
    worker = client.worker(concurrency=1, poll_s=1, grace_s=0)
    worker.start()
    call = session.start("print_label", {"order": 17})
    printing.begun()
    worker.stop()
    state = call.state()
    assert state.request is not None
    printing.let_end(2)
    assert call.wait().result() == {"done": 2}
    assert len(printing.runs) == 1


def test_worker_without_rights_stops_and_says_why(bench: Bench) -> None:
    with Recount(bench.url, "rct_unknown") as stranger:
        stranger.tool("pack")(lambda order: {"packed": order})
        worker = stranger.worker(concurrency=1)
        worker.start()
        worker.wait()
        with pytest.raises(Unauthenticated):
            worker.stop()


def test_worker_claims_its_tools_alone(client: Recount, session: Session) -> None:
    @client.tool()
    def pack(order: int) -> dict[str, Any]:
        return {"packed": order}

    other = session.start("print_label", {"order": 1})
    with pytest.raises(ValueError, match="at least one tool"):
        client.worker(tools=[])
    assert not client.worker(tools=[pack]).run_one()
    assert not client.worker(agents=["billing"]).run_one()
    assert not other.state().ended


def test_tool_names_are_unique_and_arguments_have_names(client: Recount) -> None:
    client.tool("pack")(lambda order: {"packed": order})
    with pytest.raises(ValueError, match="pack already"):
        client.tool("pack")(lambda order: {"packed": order})
    with pytest.raises(TypeError, match="have names"):

        @client.tool()
        def hidden(order: int, /) -> dict[str, int]:
            return {"order": order}


def test_function_of_an_unfit_kind_is_refused(client: Recount) -> None:
    async def later(order: int) -> dict[str, int]:
        return {"order": order}

    def several(order: int) -> Iterator[int]:
        yield order

    with pytest.raises(TypeError, match="AsyncRecount"):
        client.tool()(later)
    with pytest.raises(TypeError, match="yield_result"):
        client.tool()(several)
    with pytest.raises(TypeError, match=r"@client\.tool\(\)"):
        client.tool(lambda order: {"order": order})  # type: ignore[arg-type]
    client.tool()(lambda order: {"order": order})
    with pytest.raises(ValueError, match="at least one function"):
        client.worker(concurrency=0)


def test_closed_client_says_so(client: Recount) -> None:
    client.close()
    with pytest.raises(RecountError, match="closed"):
        client.me()
