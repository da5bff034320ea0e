"""Sessions and calls."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar

from . import operations as ops
from .errors import RecountError
from .handles import CallHandle, SessionHandle
from .models import Record
from .paging import pages
from .reading import obj
from .transport import Transport
from .waiting import EndOfCall, first_wait, slice_of

if TYPE_CHECKING:
    from .calls import CallState
    from .models import OnRecord, SessionInfo
    from .reading import JsonObject


class Session(SessionHandle[Transport]):
    """A session, by its id.

    Within `with session:` the tools of the program make their calls in it. The end of the block
    leaves the session open; `close` closes it.

    ```python
    session = client.session(kept_id)
    result = session.call("refund", {"order": 17}, key="refund-17")
    session.close("the order is done")
    ```
    """

    _active: ClassVar[ContextVar[Any]] = ContextVar("recount_session", default=None)

    def info(self) -> SessionInfo:
        """Returns the agent, the labels and the state of the session."""
        return self._transport.send(ops.session(self.id))

    def call(
        self,
        tool: str,
        args: Mapping[str, Any],
        *,
        key: str | None = None,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Calls a tool as a model would, and waits for its result.

        With the same key, the same text is the same call: after a restart of the program, it waits
        for the call that was made before, or returns its result. The key is recorded in clear.

        Raises:
            CallFailed: The call ended without a result, for example because it was denied.
            NotYet: The call has not ended within the timeout, in seconds. It goes on.
            KeyReused: The key belongs to a call with another text.
        """
        call = self.start(tool, args, key=key, wait=first_wait(timeout))
        return call.wait(timeout=timeout).result()

    def start(
        self, tool: str, args: Mapping[str, Any], *, key: str | None = None, wait: float = 0
    ) -> Call:
        """Calls a tool, and returns when it is on record.

        With `wait`, the response may take so many seconds, and bring the result along.
        """
        state = self._transport.send(ops.start_call(self.id, tool, args, key, slice_of(wait)))
        return Call(self._transport, self.id, state.call, state)

    def records(self, first: int = 1, page: int = 200) -> Iterator[Record]:
        """Iterates over the records, up to the last one that is there now."""
        return pages(
            lambda cursor: self._transport.send(ops.records(self.id, int(cursor or first), page))
        )

    def follow(self, first: int = 1) -> Generator[Record, None, None]:
        """Iterates over the records, then over each new one, until the session is closed.

        A connection that is cut off is opened again after the last record that arrived.
        """
        for event in self._transport.stream(ops.record_events(self.id, first)):
            yield Record.of(obj(event.json()))

    def calls(self) -> Iterator[JsonObject]:
        """Iterates over the calls, each as a row of `recount audit decisions`."""
        return pages(lambda cursor: self._transport.send(ops.calls(self.id, cursor)))

    def state(self, at: int | None = None) -> JsonObject:
        """Returns the session as of a record, the last one by default."""
        return self._transport.send(ops.state(self.id, at))

    def deny_all(self, reason: str | None = None) -> list[ops.OneOutcome]:
        """Denies every confirmation request that is open in the session now."""
        return self._transport.send(ops.deny_all(self.id, reason))

    def close(self, reason: str) -> OnRecord:
        """Closes the session, which cancels its open calls."""
        return self._transport.send(ops.close_session(self.id, reason))


class Call(CallHandle[Transport]):
    """A call, by its session and the seq of its record, or its id.

    ```python
    call = session.start("refund", {"order": 17}, key="refund-17")
    save(call.ref)
    state = client.resume(call.ref).wait(timeout=3600)
    print(state.result())
    ```
    """

    def state(self) -> CallState:
        """Returns the call, as far as it has come."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> CallState:
        """Waits until the call has ended, also over restarts of the service.

        Raises:
            NotYet: It has not ended within the timeout, in seconds. It goes on.
            Unreachable: The service has not answered at all, or not at the end of the timeout.
        """
        waiting = EndOfCall(self.ref, timeout)
        while True:
            try:
                state = self._look(waiting.hold_s())
            except RecountError as error:
                pause = waiting.pause_after_error(error, known=self._known)
            else:
                if state.ended:
                    return state
                pause = waiting.pause_after_response()
            if pause > 0:
                time.sleep(pause)

    def respond(self, response: Mapping[str, Any], *, interim: bool = False) -> OnRecord:
        """Supplies the result of a paused call. An interim one leaves it paused."""
        request = ops.respond(self.session, self.call, response, interim=interim)
        return self._transport.send(request)

    def reconcile(self, *, done: Any = None, failed: str | None = None) -> OnRecord:
        """Records what a call did whose outcome was unknown when it ended."""
        found = ops.finding(done=done, failed=failed)
        return self._transport.send(ops.reconcile(self.session, self.call, found))

    def cancel(self, reason: str | None = None) -> OnRecord:
        """Cancels the call. It undoes nothing."""
        return self._transport.send(ops.cancel(self.session, self.call, reason))

    def _look(self, wait: int) -> CallState:
        if self._state is not None:
            return self._state
        request = ops.call_state(self.session, self.call, wait)
        return self._received(self._transport.send(request))
