"""A worker: threads that claim calls, run the functions of their tools, and report the ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import operations as ops
from .claiming import AGAIN_S, WorkerBase, WorkerSettings
from .errors import RecountError
from .running import TRANSIENT, RunEnd, RunningCall, _current, log
from .tool import Tool

if TYPE_CHECKING:
    from types import TracebackType

    from .calls import ClaimedCall
    from .transport import Transport


class Worker(WorkerBase[Tool[Any, Any]]):
    """Runs the claimed calls of some tools, each in a thread.

    A call whose function has begun is never run again by a worker. If its process ends first, the
    in-doubt rule of its tool applies. A call that was claimed and not begun is given back.

    ```python
    with client.worker() as worker:
        worker.wait()
    ```
    """

    def __init__(
        self,
        transport: Transport,
        tools: Mapping[str, Tool[Any, Any]],
        settings: WorkerSettings,
    ) -> None:
        super().__init__(tools, settings)
        self._transport = transport
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        # The calls that run here, each with the event that ends its renewals.
        self._running: dict[tuple[str, int], tuple[RunningCall, threading.Event]] = {}
        self._threads = [
            threading.Thread(target=self._serve, name=f"recount-{number}", daemon=True)
            for number in range(settings.concurrency)
        ]
        # Replaced by tests, which have no clock.
        self._wait_event: Callable[[threading.Event, float], bool] = threading.Event.wait

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the threads."""
        for thread in self._threads:
            thread.start()

    def wait(self) -> None:
        """Waits until the worker is to stop: by `request_stop`, or because it cannot go on."""
        self._stopping.wait()

    def request_stop(self) -> None:
        """Claims nothing more. A signal handler may call it."""
        self._stopping.set()

    def stop(self) -> None:
        """Claims nothing more, waits for the running functions, and gives back what is left.

        A function that still runs after the grace cannot be stopped: its call is in doubt then, and
        its result still counts while nothing else decides.

        Raises:
            RecountError: The worker could not go on, for example because its token was revoked.
        """
        self._stopping.set()
        end = time.monotonic() + self._settings.grace_s
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, end - time.monotonic()))
        with self._lock:
            left = list(self._running.values())
        for run, ended in left:
            ended.set()
            self._release(run.held, "the worker stopped", not_begun=False)
        if self._error is not None:
            raise self._error

    def run_one(self, wait: int = 0) -> bool:
        """Claims and runs one call in this thread. Returns false if none became ready."""
        held = self._claim(wait)
        if held is None:
            return False
        self._run(held)
        return True

    def _serve(self) -> None:
        while not self._stopping.is_set():
            try:
                held = self._claim(self._settings.poll_s)
            except RecountError as error:
                if not self._may_claim_after(error):
                    self._stopping.set()
                    return
                self._wait_event(self._stopping, AGAIN_S)
                continue
            if held is not None and self._stopping.is_set():
                self._release(held, "the worker stops", not_begun=True)
            elif held is not None:
                self._run(held)

    def _claim(self, wait: int) -> ClaimedCall | None:
        return self._transport.send(self._claim_request(wait))

    def _run(self, held: ClaimedCall) -> None:
        place = (held.session, held.call)
        with self._lock:
            before = self._running.get(place)
            if before is not None:
                # The call is repeatable and was started again, while its function still runs here.
                before[0].adopt(held)
                return
            run, ended = RunningCall(held, self._transport.send), threading.Event()
            self._running[place] = (run, ended)
        renewing = threading.Thread(target=self._renew, args=(run, ended), daemon=True)
        renewing.start()
        try:
            self._deliver(run, self._ended(run))
        finally:
            ended.set()
            with self._lock:
                del self._running[place]
            renewing.join()

    def _ended(self, run: RunningCall) -> RunEnd:
        tool = self.tools[run.held.tool]
        token = _current.set(run)
        try:
            return RunEnd.of(tool.function(**tool.bound(run.held.args)))
        except BaseException as error:  # noqa: BLE001 - sys.exit() must not end this thread.
            return RunEnd.of_error(error, run.held)
        finally:
            _current.reset(token)

    def _deliver(self, run: RunningCall, end: RunEnd) -> None:
        """Reports the end until the service has taken or refused it. The function runs once."""
        left: RunEnd | None = end
        while left is not None:
            held = run.held
            try:
                self._transport.send(left.request(held))
            except TRANSIENT as error:
                log.warning("the end of %s is not on record yet: %s", held.ref, error)
                self._wait_event(threading.Event(), AGAIN_S)
            except RecountError as error:
                left = left.refused(held, run.held, error)
            else:
                return

    def _renew(self, run: RunningCall, ended: threading.Event) -> None:
        while not self._wait_event(ended, self._renewal_s):
            try:
                self._transport.send(self._renewal_request(run.held))
            except RecountError as error:
                if not run.renewal_failed(error):
                    return

    def _release(self, held: ClaimedCall, reason: str, *, not_begun: bool) -> None:
        try:
            self._transport.send(ops.release(held, reason, not_begun=not_begun))
        except RecountError as error:
            log.warning("%s was not given back, so its lease will pass: %s", held.ref, error)
