"""A worker for `asyncio`: tasks that claim calls, run their functions, and report the ends."""

from __future__ import annotations

import asyncio
import inspect
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import operations as ops
from .errors import RecountError
from .running import PASSING, End, RunningCall, _current, log, new_claim
from .tool import AsyncTool
from .worker import AGAIN_S, RENEWALS

if TYPE_CHECKING:
    from types import TracebackType

    from .calls import ClaimedCall
    from .models import OnRecord
    from .requests import Request
    from .transport import AsyncTransport


async def _passed(event: asyncio.Event, seconds: float) -> bool:
    """Waits for the event. Returns false if the time has passed."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True


class AsyncWorker:
    """Runs the claimed calls of some tools, each as a task.

    A call whose function has begun is never run again by a worker. If its process ends first, the
    in-doubt rule of its tool applies. A call that was claimed and not begun is given back. The task
    of an `async` function is cancelled if its call is.

    ```python
    async with client.worker() as worker:
        await worker.wait()
    ```
    """

    def __init__(
        self,
        transport: AsyncTransport,
        tools: Mapping[str, AsyncTool[Any, Any]],
        *,
        agents: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        concurrency: int = 4,
        lease_s: float = 60,
        poll_s: int = 5,
        grace_s: float = 30,
        name: str | None = None,
    ) -> None:
        if not tools:
            raise ValueError("a worker needs at least one tool")
        if concurrency < 1:
            raise ValueError("a worker runs at least one function at a time")
        self.tools = dict(tools)
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"
        """The beginning of the ids of the claims."""
        self._transport, self._agents, self._labels = transport, tuple(agents), dict(labels or {})
        self._lease_ms, self._poll_s, self._grace_s = int(lease_s * 1000), poll_s, grace_s
        self._concurrency = concurrency
        self._stopping = asyncio.Event()
        self._error: RecountError | None = None
        self._running: dict[tuple[str, int], RunningCall] = {}
        self._tasks: list[asyncio.Task[None]] = []
        # Replaced by tests, which have no clock.
        self._passed: Callable[[asyncio.Event, float], Awaitable[bool]] = _passed

    async def __aenter__(self) -> AsyncWorker:
        self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def start(self) -> None:
        """Starts the tasks."""
        self._tasks = [asyncio.create_task(self._serve()) for _ in range(self._concurrency)]

    async def wait(self) -> None:
        """Waits until the worker is to stop: by `request_stop`, or because it cannot go on."""
        await self._stopping.wait()

    def request_stop(self) -> None:
        """Claims nothing more. A handler of `loop.add_signal_handler` may call it."""
        self._stopping.set()

    async def stop(self) -> None:
        """Claims nothing more, waits for the running functions, and gives back what is left.

        After the grace, the tasks of the functions are cancelled, and their calls are in doubt.

        Raises:
            RecountError: The worker could not go on, for example because its token was revoked.
        """
        self._stopping.set()
        if self._tasks:
            _, left = await asyncio.wait(self._tasks, timeout=self._grace_s)
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left)
        if self._error is not None:
            raise self._error

    async def run_one(self, wait: int = 0) -> bool:
        """Claims and runs one call in this task. Returns false if none became ready."""
        held = await self._claim(wait)
        if held is None:
            return False
        await self._run(held)
        return True

    async def _serve(self) -> None:
        while not self._stopping.is_set():
            try:
                held = await self._claim(self._poll_s)
            except PASSING as error:
                log.warning("no call was claimed: %s", error)
                await self._passed(self._stopping, AGAIN_S)
                continue
            except RecountError as error:
                log.error("the worker cannot go on: %s", error)
                self._error = error
                self._stopping.set()
                return
            if held is not None and self._stopping.is_set():
                await self._release(held, "the worker stops", not_begun=True)
            elif held is not None:
                await self._run(held)

    async def _claim(self, wait: int) -> ClaimedCall | None:
        request = ops.claim(
            new_claim(self.name),
            tools=list(self.tools),
            agents=self._agents,
            labels=self._labels,
            lease_ms=self._lease_ms,
            wait=wait,
        )
        claiming = asyncio.ensure_future(self._transport.send(request))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            # The claim may be on record, so its reply is awaited, and the call given back.
            held = await claiming
            if held is not None:
                await self._release(held, "the worker was cancelled", not_begun=True)
            raise

    async def _run(self, held: ClaimedCall) -> None:
        place = (held.session, held.call)
        before = self._running.get(place)
        if before is not None:
            # The call is repeatable and was started again, while its function still runs here.
            before.adopt(held)
            return
        run = self._running[place] = self._running_call(held)
        running = asyncio.create_task(self._ended(run))
        renewing = asyncio.create_task(self._renew(run, running))
        try:
            await asyncio.wait([running])
            if not running.cancelled():
                await self._deliver(run, running.result())
            elif run.cancelled:
                log.info("%s was cancelled", held.ref)
            else:
                # The function awaited something that was cancelled. The worker goes on.
                await self._deliver(run, End.of_error(asyncio.CancelledError(), held))
        except asyncio.CancelledError:
            running.cancel()
            if not run.cancelled:
                await self._release(run.held, "the worker stopped", not_begun=False)
            raise
        finally:
            renewing.cancel()
            del self._running[place]

    def _running_call(self, held: ClaimedCall) -> RunningCall:
        loop = asyncio.get_running_loop()

        def from_thread(request: Request[OnRecord]) -> OnRecord:
            """Sends a request of a function that runs in a thread."""
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                sending = self._transport.send(request)
                return asyncio.run_coroutine_threadsafe(sending, loop).result()
            raise RuntimeError("an async function awaits the method with _async")

        return RunningCall(held, from_thread, self._transport.send)

    async def _ended(self, run: RunningCall) -> End:
        tool = self.tools[run.held.tool]
        token = _current.set(run)
        try:
            args = tool.bound(run.held.args)
            if inspect.iscoroutinefunction(tool.function):
                return End.of(await tool.function(**args))
            return End.of(await asyncio.to_thread(tool.function, **args))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - sys.exit() must not end the loop.
            return End.of_error(error, run.held)
        finally:
            _current.reset(token)

    async def _deliver(self, run: RunningCall, end: End) -> None:
        """Reports the end until the service has taken or refused it. The function runs once."""
        left: End | None = end
        while left is not None:
            held = run.held
            try:
                await self._transport.send(left.request(held))
            except PASSING as error:
                log.warning("the end of %s is not on record yet: %s", held.ref, error)
                await self._passed(asyncio.Event(), AGAIN_S)
            except RecountError as error:
                left = left.refused(held, run.held, error)
            else:
                return

    async def _renew(self, run: RunningCall, running: asyncio.Task[End]) -> None:
        never = asyncio.Event()
        while not await self._passed(never, self._lease_ms / 1000 / RENEWALS):
            try:
                await self._transport.send(ops.renew(run.held, self._lease_ms))
            except RecountError as error:
                if not run.renewal_failed(error):
                    running.cancel()
                    return

    async def _release(self, held: ClaimedCall, reason: str, *, not_begun: bool) -> None:
        try:
            await self._transport.send(ops.release(held, reason, not_begun=not_begun))
        except RecountError as error:
            log.warning("%s was not given back, so its lease will pass: %s", held.ref, error)
