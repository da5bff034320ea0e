"""A worker for `asyncio`: tasks that claim calls, run their functions, and report the ends."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import operations as ops
from .claiming import AGAIN_S, WorkerBase, WorkerSettings
from .errors import RecountError
from .running import TRANSIENT, RunEnd, RunningCall, _current, log
from .tool import AsyncTool

if TYPE_CHECKING:
    from types import TracebackType

    from .calls import ClaimedCall
    from .models import OnRecord
    from .requests import Request
    from .transport import AsyncTransport


async def _wait_event(event: asyncio.Event, seconds: float) -> bool:
    """Waits for the event. Returns false if the time has passed."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True


class AsyncWorker(WorkerBase[AsyncTool[Any, Any]]):
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
        settings: WorkerSettings,
    ) -> None:
        super().__init__(tools, settings)
        self._transport = transport
        self._stopping = asyncio.Event()
        self._running: dict[tuple[str, int], RunningCall] = {}
        self._tasks: list[asyncio.Task[None]] = []
        # Replaced by tests, which have no clock.
        self._wait_event: Callable[[asyncio.Event, float], Awaitable[bool]] = _wait_event

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
        self._tasks = [
            asyncio.create_task(self._serve()) for _ in range(self._settings.concurrency)
        ]

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
            _, left = await asyncio.wait(self._tasks, timeout=self._settings.grace_s)
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
                held = await self._claim(self._settings.poll_s)
            except RecountError as error:
                if not self._may_claim_after(error):
                    self._stopping.set()
                    return
                await self._wait_event(self._stopping, AGAIN_S)
                continue
            if held is not None and self._stopping.is_set():
                await self._release(held, "the worker stops", not_begun=True)
            elif held is not None:
                await self._run(held)

    async def _claim(self, wait: int) -> ClaimedCall | None:
        claiming = asyncio.ensure_future(self._transport.send(self._claim_request(wait)))
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
                await self._deliver(run, RunEnd.of_error(asyncio.CancelledError(), held))
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

    async def _ended(self, run: RunningCall) -> RunEnd:
        tool = self.tools[run.held.tool]
        token = _current.set(run)
        try:
            args = tool.bound(run.held.args)
            if inspect.iscoroutinefunction(tool.function):
                return RunEnd.of(await tool.function(**args))
            return RunEnd.of(await asyncio.to_thread(tool.function, **args))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - sys.exit() must not end the loop.
            return RunEnd.of_error(error, run.held)
        finally:
            _current.reset(token)

    async def _deliver(self, run: RunningCall, end: RunEnd) -> None:
        """Reports the end until the service has taken or refused it. The function runs once."""
        left: RunEnd | None = end
        while left is not None:
            held = run.held
            try:
                await self._transport.send(left.request(held))
            except TRANSIENT as error:
                log.warning("the end of %s is not on record yet: %s", held.ref, error)
                await self._wait_event(asyncio.Event(), AGAIN_S)
            except RecountError as error:
                left = left.refused(held, run.held, error)
            else:
                return

    async def _renew(self, run: RunningCall, running: asyncio.Task[RunEnd]) -> None:
        never = asyncio.Event()
        while not await self._wait_event(never, self._renewal_s):
            try:
                await self._transport.send(self._renewal_request(run.held))
            except RecountError as error:
                if not run.renewal_failed(error):
                    running.cancel()
                    return

    async def _release(self, held: ClaimedCall, reason: str, *, not_begun: bool) -> None:
        try:
            await self._transport.send(ops.release(held, reason, not_begun=not_begun))
        except RecountError as error:
            log.warning("%s was not given back, so its lease will pass: %s", held.ref, error)
