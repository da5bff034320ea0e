"""Sessions and calls."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from contextvars import ContextVar, Token
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import operations as ops
from .calls import CallState, call_ref
from .errors import NotYet, RecountError
from .models import Record
from .reading import obj
from .waiting import EARLY_S, PAUSE_S, WAIT_S, first_wait, outlives, slice_of

if TYPE_CHECKING:
    from types import TracebackType

    from .models import OnRecord, SessionInfo
    from .reading import JsonObject
    from .transport import Transport

_active: ContextVar[Session | None] = ContextVar("recount_session", default=None)


def active_session() -> Session:
    """Returns the session of the surrounding `with session:`.

    Raises:
        RuntimeError: There is none.
    """
    found = _active.get()
    if found is None:
        raise RuntimeError("no session: call the tool in `with session:`, or name it: `within`")
    return found


class Session:
    """A session, by its id.

    Within `with session:` the tools of the program make their calls in it. The end of the block
    leaves the session open; `close` closes it.
    """

    def __init__(self, transport: Transport, identifier: str) -> None:
        self._transport = transport
        self.id = identifier
        """The id."""
        self._tokens: list[Token[Session | None]] = []

    def __repr__(self) -> str:
        return f"Session({self.id!r})"

    def __enter__(self) -> Session:
        self._tokens.append(_active.set(self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _active.reset(self._tokens.pop())

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
        cursor: str | None = str(first)
        while cursor is not None:
            found = self._transport.send(ops.records(self.id, int(cursor), page))
            yield from found.items
            cursor = found.next

    def follow(self, first: int = 1) -> Generator[Record, None, None]:
        """Iterates over the records, then over each new one, until the session is closed.

        A connection that is cut off is opened again after the last record that arrived.
        """
        for event in self._transport.stream(ops.record_events(self.id, first)):
            yield Record.of(obj(event.json()))

    def calls(self) -> Iterator[JsonObject]:
        """Iterates over the calls, each as a row of `recount audit decisions`."""
        cursor: str | None = None
        while True:
            found = self._transport.send(ops.calls(self.id, cursor))
            yield from found.items
            if found.next is None:
                return
            cursor = found.next

    def state(self, at: int | None = None) -> JsonObject:
        """Returns the session as of a record, the last one by default."""
        return self._transport.send(ops.state(self.id, at))

    def deny_all(self, reason: str | None = None) -> list[ops.OneOutcome]:
        """Denies every confirmation request that is open in the session now."""
        return self._transport.send(ops.deny_all(self.id, reason))

    def close(self, reason: str) -> OnRecord:
        """Closes the session, which cancels its open calls."""
        return self._transport.send(ops.close_session(self.id, reason))


class Call:
    """A call, by its session and the seq of its record, or its id."""

    def __init__(
        self,
        transport: Transport,
        session: str,
        call: int | str,
        state: CallState | None = None,
    ) -> None:
        self._transport = transport
        self.session = session
        """The id of the session."""
        self.call = call
        """The seq of the call's record, or its id."""
        self._state = state if state is not None and state.ended else None
        # A wait outlives an outage of the service only once the call is known to exist.
        self._known = state is not None
        self.repeated = state is not None and state.repeated
        """True if an earlier request with the same key made the call."""

    def __repr__(self) -> str:
        return f"Call({self.ref!r})"

    @property
    def ref(self) -> str:
        """The reference, for `Recount.resume` in this or another process."""
        return call_ref(self.session, self.call)

    def state(self) -> CallState:
        """Returns the call, as far as it has come."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> CallState:
        """Waits until the call has ended, also over restarts of the service.

        Raises:
            NotYet: It has not ended within the timeout, in seconds. It goes on.
            Unreachable: The service has not answered at all, or not at the end of the timeout.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            began = time.monotonic()
            wait = WAIT_S if end is None else slice_of(end - began)
            try:
                state = self._look(wait)
            except RecountError as error:
                left = None if end is None else end - time.monotonic()
                pause = outlives(self.ref, error, left) if self._known else None
                if pause is None:
                    raise
                time.sleep(pause)
                continue
            if state.ended:
                return state
            now = time.monotonic()
            if end is not None and now >= end:
                raise NotYet(self.ref)
            if now - began < EARLY_S:
                time.sleep(PAUSE_S)

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
        state = self._transport.send(ops.call_state(self.session, self.call, wait))
        self._known = True
        state = replace(state, repeated=self.repeated)
        if state.ended:
            self._state = state
        return state
