"""The client for asyncio: the same operations, and functions as tasks."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from conftest import Bench
from recount_client import (
    AsyncCall,
    AsyncRecount,
    AsyncSession,
    AsyncWorker,
    Call,
    CallCancelled,
    CallDenied,
    CallFailed,
    Confirmation,
    NotYet,
    Recount,
    Retry,
    Session,
    Unreachable,
    Worker,
    current_call,
)

Test = Callable[[AsyncRecount, AsyncSession], Coroutine[Any, Any, None]]


def run(bench: Bench, test: Test) -> None:
    async def within() -> None:
        async with AsyncRecount(bench.url, bench.token("operator")) as client:
            await test(client, await client.open_session("shop"))

    asyncio.run(within())


@pytest.mark.parametrize(
    ("sync", "other"),
    [(Recount, AsyncRecount), (Session, AsyncSession), (Call, AsyncCall), (Worker, AsyncWorker)],
)
def test_both_clients_have_the_same_operations(sync: type, other: type) -> None:
    def surface(kind: type) -> dict[str, list[str]]:
        public = inspect.getmembers(kind, callable)
        return {
            name: list(inspect.signature(it).parameters)
            for name, it in public
            if not name.startswith("_")
        }

    assert surface(sync) == surface(other)


@pytest.mark.parametrize(
    ("sync", "other"), [(Recount, AsyncRecount), (Session, AsyncSession), (Call, AsyncCall)]
)
def test_operations_of_both_clients_have_one_description(sync: type, other: type) -> None:
    def descriptions(kind: type) -> dict[str, str]:
        public = inspect.getmembers(kind, callable)
        found = {name: inspect.getdoc(it) or "" for name, it in public if not name.startswith("_")}
        # The examples differ in their `await`.
        return {name: re.sub(r"```.*?```", "", doc, flags=re.S) for name, doc in found.items()}

    assert descriptions(sync) == descriptions(other)


def test_operations_are_awaited(bench: Bench) -> None:
    async def test(client: AsyncRecount, session: AsyncSession) -> None:
        assert (await client.me()).actor.name == "operator"
        assert await session.call("add", {"a": 2, "b": 3}, key="sum") == {"output": 5}
        assert [it.session async for it in client.sessions(agent="shop")] == [session.id]
        assert [it.seq async for it in session.records()][0] == 1
        assert [it["tool"] async for it in session.calls()] == ["add"]
        call = await session.start("mail", {})
        with pytest.raises(NotYet):
            await call.wait(timeout=0)
        [request] = [it async for it in client.pending(session=session)]
        assert isinstance(request, Confirmation)
        await client.deny(request, reason="not now")
        with pytest.raises(CallDenied):
            (await client.resume(call.ref).wait()).result()
        with pytest.raises(CallFailed):
            await session.call("fly", {})

    run(bench, test)


def test_functions_run_as_tasks_and_in_threads(bench: Bench) -> None:
    async def test(client: AsyncRecount, session: AsyncSession) -> None:
        @client.tool()
        async def pack(order: int) -> dict[str, Any]:
            await current_call().report_async("progress", {"percent": 50})
            return {"packed": order}

        @client.tool()
        def print_label(order: int) -> int:
            current_call().report("progress", {"percent": 50})
            return order

        async with client.worker(poll_s=1):
            with session:
                assert await pack(order=17) == {"packed": 17}
                assert await print_label.within(session, key="label")(order=17) == 17
        found = [it.kind async for it in session.records()]
        assert found.count("tool_event_emitted") == 2

    run(bench, test)


def test_cancelled_call_cancels_its_task(bench: Bench) -> None:
    async def test(client: AsyncRecount, session: AsyncSession) -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        @client.tool()
        async def pack(order: int) -> dict[str, Any]:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return {}

        worker = client.worker()
        tick = asyncio.Event()

        async def passed(event: asyncio.Event, seconds: float) -> bool:
            await tick.wait()
            tick.clear()
            return False

        worker._wait_event = passed
        call = await session.start("pack", {"order": 17})
        running = asyncio.create_task(worker.run_one())
        await begun.wait()
        await call.cancel("ordered twice")
        tick.set()
        await ended.wait()
        assert await running
        with pytest.raises(CallCancelled):
            (await call.wait()).result()

    run(bench, test)


def test_inner_cancellation_and_exit_end_no_task(bench: Bench) -> None:
    async def test(client: AsyncRecount, session: AsyncSession) -> None:
        @client.tool()
        async def pack(order: int) -> dict[str, Any]:
            if order == 0:
                inner = asyncio.create_task(asyncio.Event().wait())
                inner.cancel()
                await inner
            elif order == 1:
                raise SystemExit(1)
            return {"packed": order}

        async with client.worker(concurrency=1, poll_s=1):
            for order, raised in enumerate(("CancelledError", "SystemExit")):
                with pytest.raises(CallFailed, match=f"raised {raised}"):
                    await session.call("pack", {"order": order})
            assert await session.call("pack", {"order": 2}) == {"packed": 2}

    run(bench, test)


def test_wait_outlasts_a_restart_of_the_service(bench: Bench) -> None:
    async def test(client: AsyncRecount, session: AsyncSession) -> None:
        client._transport.retry = Retry.none()
        call = await session.start("refund", {"order": 17})
        request = (await call.state()).request
        assert request is not None
        bench.kill()
        waiting = asyncio.create_task(call.wait())
        with pytest.raises(Unreachable):
            await call.wait(timeout=0)
        await asyncio.to_thread(bench.start)
        await client.deny(request)
        with pytest.raises(CallDenied):
            (await waiting).result()

    run(bench, test)


def test_stop_cancels_what_outlives_the_grace(bench: Bench) -> None:
    async def test(client: AsyncRecount, session: AsyncSession) -> None:
        begun = asyncio.Event()

        @client.tool()
        async def print_label(order: int) -> dict[str, Any]:
            begun.set()
            await asyncio.Event().wait()
            return {}

        worker = client.worker(concurrency=1, poll_s=1, grace_s=0)
        worker.start()
        call = await session.start("print_label", {"order": 17})
        await begun.wait()
        await worker.stop()
        # What the function did is unknown, so a person is asked.
        request = (await call.state()).request
        assert request is not None
        await client.settle(request, done={"printed": 17})
        assert (await call.wait()).result() == {"printed": 17}

    run(bench, test)


def test_sync_report_within_a_task_is_refused(bench: Bench) -> None:
    async def test(client: AsyncRecount, session: AsyncSession) -> None:
        caught: list[str] = []

        @client.tool()
        async def pack(order: int) -> dict[str, Any]:
            try:
                current_call().report("progress", {})
            except RuntimeError as error:
                caught.append(str(error))
            return {}

        await session.start("pack", {"order": 17})
        assert await client.worker().run_one(wait=5)
        assert caught == ["an async function awaits the method with _async"]

    run(bench, test)
