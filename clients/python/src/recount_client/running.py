"""A claimed call while its function runs, and what a worker tells the service about it."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from . import operations as ops
from .errors import RecountError, UnexpectedResponse, Unreachable
from .problems import CallEnded, ClaimLost, ServiceFailed, TooMany, Unavailable, Unfit
from .tool import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .calls import ClaimedCall
    from .models import OnRecord
    from .requests import Request

log = logging.getLogger("recount_client")

TRANSIENT = (Unreachable, Unavailable, ServiceFailed, TooMany, UnexpectedResponse)
"""The failures after which a worker tries again."""

_current: ContextVar[RunningCall | None] = ContextVar("recount_call", default=None)


def current_call() -> RunningCall:
    """Returns the call that the surrounding function runs for.

    ```python
    @client.tool("refund")
    def refund(order: int) -> dict[str, str]:
        return {"receipt": bank.refund(order, key=current_call().idempotency_key)}
    ```

    Raises:
        RuntimeError: No worker runs the function.
    """
    found = _current.get()
    if found is None:
        raise RuntimeError("no worker runs this function")
    return found


class RunningCall:
    """A claimed call whose function runs in this process.

    ```python
    @client.tool("pack")
    def pack(order: int) -> dict[str, int]:
        call = current_call()
        for percent in range(0, 100, 10):
            if call.cancelled:
                raise ToolFailure("cancelled while packing")
            call.report("progress", {"percent": percent})
        return {"packed": order}
    ```
    """

    def __init__(
        self,
        held: ClaimedCall,
        send: Callable[[Request[OnRecord]], object],
        send_async: Callable[[Request[OnRecord]], Awaitable[object]] | None = None,
    ) -> None:
        self.held = held
        """The claim. A later one replaces it, if the call was started again meanwhile."""
        self._cancelled, self._lost = threading.Event(), threading.Event()
        self._send, self._send_async = send, send_async

    @property
    def cancelled(self) -> bool:
        """True once the service has said that the call has ended, for example by a cancellation."""
        return self._cancelled.is_set()

    @property
    def lost(self) -> bool:
        """True once the lease has passed. A result still counts while nothing else decides."""
        return self._lost.is_set()

    def wait_cancelled(self, timeout: float | None = None) -> bool:
        """Waits in a thread until the call is cancelled. Returns false after the timeout."""
        return self._cancelled.wait(timeout)

    @property
    def idempotency_key(self) -> str:
        """The key of the call, the same for every start of it. Pass it to what the tool calls."""
        return self.held.idempotency_key

    @property
    def payload(self) -> Any:
        """The payload that the approver gave, or `None`."""
        found = self.held.confirmation
        return found.get("payload") if isinstance(found, Mapping) else None

    def report(self, name: str, data: object) -> None:
        """Reports an event for the embedding program, such as progress.

        Raises:
            ServiceProblem: The service refuses it, for example because the call was cancelled.
        """
        self._send(ops.report(self.held, name, data))

    def yield_result(self, response: object) -> None:
        """Reports one of several results of a streaming tool.

        Raises:
            ServiceProblem: The service refuses it.
        """
        self._send(ops.yield_result(self.held, response))

    async def report_async(self, name: str, data: object) -> None:
        """Reports an event, in an `async` function. See `report`."""
        await self._awaited(ops.report(self.held, name, data))

    async def yield_result_async(self, response: object) -> None:
        """Reports one of several results, in an `async` function. See `yield_result`."""
        await self._awaited(ops.yield_result(self.held, response))

    async def _awaited(self, request: Request[OnRecord]) -> None:
        if self._send_async is None:
            raise RuntimeError("a Worker runs functions in threads: use the method without _async")
        await self._send_async(request)

    def adopt(self, held: ClaimedCall) -> None:
        """Takes a later start of the same call: the run that goes on answers for it."""
        self.held = held
        self._lost.clear()

    def renewal_failed(self, error: RecountError) -> bool:
        """Notes the failure of a renewal. Returns true if another one may succeed."""
        if isinstance(error, CallEnded):
            self._cancelled.set()
            log.warning("%s has ended: %s", self.held.ref, error)
            return False
        if isinstance(error, ClaimLost):
            self._lost.set()
            log.warning("the lease of %s has passed: %s", self.held.ref, error)
            # A later start of the call may come to this process.
            return True
        log.warning("the lease of %s was not renewed: %s", self.held.ref, error)
        return True


class RunEnd:
    """The end of a run: a result, or the reason of a failure."""

    def __init__(self, result: object = None, failed: str | None = None) -> None:
        self.result, self.failed = result, failed

    @staticmethod
    def of(result: object) -> RunEnd:
        """The end of a function that returned. A result that is no JSON is a failure."""
        try:
            json.dumps(result, allow_nan=False)
        except (TypeError, ValueError) as error:
            return RunEnd(failed=f"the function has run, and its result is no JSON: {error}")
        return RunEnd(result)

    @staticmethod
    def of_error(error: BaseException, held: ClaimedCall) -> RunEnd:
        """The end of a function that raised. The traceback is in the log of this process alone."""
        if isinstance(error, ToolFailure):
            log.info("%s failed: %s", held.ref, error)
            return RunEnd(failed=str(error) or "the tool failed")
        log.error("the function of %s (%s) raised", held.tool, held.ref, exc_info=error)
        return RunEnd(failed=f"the function raised {type(error).__name__}")

    def request(self, held: ClaimedCall) -> Request[OnRecord]:
        """Returns the report of the end."""
        if self.failed is not None:
            return ops.fail(held, self.failed)
        return ops.finish(held, self.result)

    def refused(self, held: ClaimedCall, now: ClaimedCall, error: RecountError) -> RunEnd | None:
        """Returns the end to report after a refusal, or `None` if there is nothing more to say."""
        if held is not now:
            return self
        if isinstance(error, Unfit) and self.failed is None:
            return RunEnd(failed=f"the function has run, and its result is unfit: {error.detail}")
        log.warning("%s takes no report of its end: %s", held.ref, error)
        return None
