"""The parts of sessions and calls that both clients share: ids, `with session:`, known states."""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from .calls import CallState, call_ref

if TYPE_CHECKING:
    from types import TracebackType

TransportT = TypeVar("TransportT")
SessionT = TypeVar("SessionT", bound="SessionHandle[Any]")


class SessionHandle(Generic[TransportT]):
    """A session by its id, and the `with` statement that makes it the session of the tools."""

    _active: ClassVar[ContextVar[Any]]

    def __init__(self, transport: TransportT, identifier: str) -> None:
        self._transport = transport
        self.id = identifier
        """The id."""
        self._tokens: list[Token[Any]] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    def __enter__(self: SessionT) -> SessionT:
        self._tokens.append(self._active.set(self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._active.reset(self._tokens.pop())


def active(kind: type[SessionT]) -> SessionT:
    """Returns the session of the surrounding `with session:`.

    Raises:
        RuntimeError: There is none.
    """
    found: SessionT | None = kind._active.get()
    if found is None:
        raise RuntimeError("no session: call the tool in `with session:`, or name it: `within`")
    return found


class CallHandle(Generic[TransportT]):
    """A call by its reference, and its state once it has ended."""

    def __init__(
        self,
        transport: TransportT,
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
        # True once the service has confirmed that the call exists.
        self._known = state is not None
        self.repeated = state is not None and state.repeated
        """True if an earlier request with the same key made the call."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ref!r})"

    @property
    def ref(self) -> str:
        """The reference, for `Recount.resume` in this or another process."""
        return call_ref(self.session, self.call)

    def _received(self, state: CallState) -> CallState:
        """Takes a state from the service. That of an ended call is kept."""
        self._known = True
        state = replace(state, repeated=self.repeated)
        if state.ended:
            self._state = state
        return state
