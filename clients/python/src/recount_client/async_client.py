"""The client for `asyncio`."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from . import operations as ops
from .async_session import AsyncCall, AsyncSession
from .async_worker import AsyncWorker
from .calls import parsed_ref
from .claiming import WorkerSettings
from .paging import async_pages
from .retry import Retry
from .tool import AsyncTool, checked_name, register
from .transport import AsyncTransport, service_of_environment

if TYPE_CHECKING:
    from types import TracebackType

    import httpx

    from .calls import Confirmation, Waiting
    from .models import Hold, Leave, Me, OnRecord, Pause, SessionInfo

P = ParamSpec("P")
R = TypeVar("R")


class Decorator:
    """The decorator that makes a function a client-run tool."""

    def __init__(self, tools: dict[str, AsyncTool[Any, Any]], name: str | None) -> None:
        checked_name(name)
        self._tools, self._name = tools, name

    @overload
    def __call__(self, function: Callable[P, Awaitable[R]]) -> AsyncTool[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R]) -> AsyncTool[P, R]: ...

    def __call__(self, function: Callable[P, Any]) -> AsyncTool[P, Any]:
        """Makes the function a tool.

        Raises:
            ValueError: There is a tool with this name already.
        """
        tool: AsyncTool[P, Any] = AsyncTool(function, self._name)
        register(self._tools, tool)
        return tool


class AsyncRecount:
    """A client of a service, for `asyncio`.

    ```python
    async with AsyncRecount("http://127.0.0.1:7878", token) as client:
        async for waiting in client.pending():
            print(waiting.tool, waiting.args)
    ```
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        retry: Retry | None = None,
        insecure: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Creates a client. Nothing is sent.

        Args:
            url: The address of the service, with the prefix of its router if it has one.
            token: The token. It is shown by no `repr` and no exception.
            retry: The rule that says when a request is sent again.
            insecure: Sends the token in clear to another machine.
            transport: The transport of httpx, for example for a Unix socket or another CA.

        Raises:
            ValueError: The address or the token is unfit, or the token would travel in clear.
        """
        self._transport = AsyncTransport(
            url, token, retry=retry or Retry(), insecure=insecure, transport=transport
        )
        self._tools: dict[str, AsyncTool[Any, Any]] = {}

    @staticmethod
    def from_env() -> AsyncRecount:
        """Creates a client of the service in `RECOUNT_URL`, with the token in `RECOUNT_TOKEN`.

        Raises:
            ValueError: `RECOUNT_TOKEN` is not set, or a value is unfit.
        """
        return AsyncRecount(*service_of_environment())

    def __repr__(self) -> str:
        return f"AsyncRecount({str(self._transport.base)!r})"

    async def __aenter__(self) -> AsyncRecount:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    async def me(self) -> Me:
        """Returns the caller, as its token proves it."""
        return await self._transport.send(ops.me())

    # Sessions and calls.

    async def open_session(
        self,
        agent: str,
        *,
        external_id: str | None = None,
        on_behalf_of: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> AsyncSession:
        """Opens a session that this program drives.

        A second session with the same `external_id` is another one, in which no key is known. Keep
        the id of the session: `session` returns it in the next process. After a lost response,
        `sessions` finds it by its `external_id`, with the role `viewer`.
        """
        request = ops.open_session(agent, external_id, on_behalf_of, labels)
        return AsyncSession(self._transport, (await self._transport.send(request)).session)

    def session(self, identifier: str) -> AsyncSession:
        """Returns a session by its id. Nothing is sent."""
        return AsyncSession(self._transport, identifier)

    def sessions(
        self,
        *,
        agent: str | None = None,
        labels: Mapping[str, str] | None = None,
        state: str | None = None,
        since: str | int | None = None,
        until: str | int | None = None,
        text: str | None = None,
    ) -> AsyncIterator[SessionInfo]:
        """Iterates over sessions, newest first.

        Args:
            agent: The agent.
            labels: Labels that a session must have, all of them.
            state: `open` or `closed`.
            since: Sessions with a record at this time or later: RFC 3339, or microseconds.
            until: Sessions opened before this time.
            text: A part of the id, the agent, a label, the external id or `on_behalf_of`.
        """

        async def page(cursor: str | None) -> ops.Page[SessionInfo]:
            request = ops.sessions(
                agent=agent,
                labels=labels,
                state=state,
                since=since,
                until=until,
                text=text,
                cursor=cursor,
            )
            return await self._transport.send(request)

        return async_pages(page)

    def resume(self, call_ref: str) -> AsyncCall:
        """Returns a call by its reference, also one of another process. Nothing is sent.

        Raises:
            ValueError: The text is no reference.
        """
        session, call = parsed_ref(call_ref)
        return AsyncCall(self._transport, session, call)

    # Answers.

    async def watch_pending(
        self,
        *,
        agent: str | None = None,
        labels: Mapping[str, str] | None = None,
        session: AsyncSession | str | None = None,
    ) -> AsyncGenerator[tuple[Waiting, ...], None]:
        """Iterates over what waits for an answer: now, and after each change, without an end.

        Changes that follow each other quickly are one item. It has the first 1,000 entries.
        """
        only = session.id if isinstance(session, AsyncSession) else session
        request = ops.pending_events(agent, labels, only)
        async for event in self._transport.stream(request):
            yield ops.waiting_in(event)

    def pending(
        self,
        *,
        agent: str | None = None,
        labels: Mapping[str, str] | None = None,
        session: AsyncSession | str | None = None,
    ) -> AsyncIterator[Waiting]:
        """Iterates over what waits for an answer: confirmation requests and paused calls."""
        only = session.id if isinstance(session, AsyncSession) else session
        return async_pages(
            lambda cursor: self._transport.send(ops.pending(agent, labels, only, cursor))
        )

    async def approve(
        self,
        request: Confirmation | str,
        *,
        reason: str | None = None,
        payload: Any = None,
        args: Mapping[str, Any] | None = None,
        allow_for: Mapping[str, int] | None = None,
    ) -> OnRecord:
        """Approves a request. The first answer counts.

        An answer to a `Confirmation` names its hash, so it counts for that request alone.

        Args:
            request: The request, or its id.
            reason: The reason.
            payload: The payload for the tool.
            args: The arguments to run with in place of the model's.
            allow_for: The bound of a standing leave: `{"count": 5}` or `{"until_us": …}`.

        Raises:
            AlreadyDecided: Another answer was first: `by`, at `at_us`.
            Gone: The request expired, was withdrawn or was replaced.
            HashMismatch: The request is not the one that was seen.
            NotAnApprover: The terms of the request exclude the answer.
        """
        sent = ops.answer(
            request,
            confirmed=True,
            reason=reason,
            payload=payload,
            args=args,
            allow_for=allow_for,
        )
        return await self._transport.send(sent)

    async def deny(self, request: Confirmation | str, *, reason: str | None = None) -> OnRecord:
        """Denies a request. The model is told the reason. Raises what `approve` raises."""
        return await self._transport.send(ops.answer(request, confirmed=False, reason=reason))

    async def answer_all(
        self,
        requests: Iterable[Confirmation | str],
        *,
        confirmed: bool,
        reason: str | None = None,
    ) -> list[ops.OneOutcome]:
        """Gives one answer to several requests. Each has an outcome of its own."""
        return await self._transport.send(
            ops.answer_all(requests, confirmed=confirmed, reason=reason)
        )

    async def settle(
        self, request: Confirmation | str, *, done: Any = None, failed: str | None = None
    ) -> OnRecord:
        """Answers a request about a call in doubt with what the call did."""
        return await self._transport.send(
            ops.settle(request, ops.finding(done=done, failed=failed))
        )

    async def leaves(self) -> tuple[Leave, ...]:
        """Returns the standing leaves in force."""
        return (await self._transport.send(ops.leaves())).items

    async def revoke(self, leave: Leave, *, reason: str | None = None) -> OnRecord:
        """Revokes a standing leave."""
        return await self._transport.send(ops.revoke(leave, reason))

    async def pauses(self) -> tuple[Pause, ...]:
        """Returns the pauses in force."""
        return (await self._transport.send(ops.pauses())).items

    async def pause(
        self,
        target: Mapping[str, Any] | str,
        *,
        reason: str | None = None,
        cancel_running: bool = False,
    ) -> OnRecord:
        """Pauses sessions, so that nothing in them starts.

        `target` is `everything`, `{"session": ID}`, `{"agent": NAME}` or
        `{"tool": {"session": ID, "tool": NAME}}`.
        """
        return await self._transport.send(ops.pause(target, reason, cancel_running=cancel_running))

    async def unpause(
        self, target: Mapping[str, Any] | str, *, reason: str | None = None
    ) -> OnRecord:
        """Ends a pause."""
        return await self._transport.send(ops.unpause(target, reason))

    async def holds(self) -> tuple[Hold, ...]:
        """Returns the legal holds in force."""
        return (await self._transport.send(ops.holds())).items

    async def hold(self, target: Mapping[str, Any], *, reason: str) -> OnRecord:
        """Keeps sessions from erasure. The `seq` of the result is the number of the hold.

        `target` is `{"session": ID}` or `{"label": {"key": KEY, "value": VALUE}}`.
        """
        return await self._transport.send(ops.hold(target, reason))

    async def unhold(self, hold: int, *, reason: str) -> OnRecord:
        """Releases the legal hold with this number."""
        return await self._transport.send(ops.unhold(hold, reason))

    # Tools.

    def tool(self, name: str | None = None) -> Decorator:
        """Makes a function a client-run tool: its calls are recorded, gated, and run by a worker.

        The agent of the service declares a tool of this name with its schema and policies. The
        default name is that of the function.

        ```python
        @client.tool("refund")
        async def refund(order: int) -> dict[str, bool]:
            return {"refunded": await bank.refund(order, key=current_call().idempotency_key)}

        async with client.worker():
            with await client.open_session("support"):
                await refund(order=17)  # Waits for the approval and for the result.
        ```
        """
        return Decorator(self._tools, name)

    def worker(
        self,
        tools: Iterable[AsyncTool[Any, Any]] | None = None,
        *,
        agents: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        concurrency: int = 4,
        lease_s: float = 60,
        poll_s: int = 5,
        grace_s: float = 30,
        name: str | None = None,
    ) -> AsyncWorker:
        """Returns a worker that runs the calls of the tools, by default of all tools.

        Args:
            tools: The tools.
            agents: The agents whose sessions it serves; by default all.
            labels: Labels that a session must have, all of them.
            concurrency: The number of functions that run at the same time.
            lease_s: The time for which the service waits for a worker that is silent, in seconds.
            poll_s: The time for which one request waits for a call; a stop may take as long.
            grace_s: The time for which a stop waits for the running functions.
            name: The beginning of the ids of the claims, for the audit.
        """
        chosen = self._tools if tools is None else {tool.name: tool for tool in tools}
        settings = WorkerSettings(
            agents=tuple(agents),
            labels=dict(labels or {}),
            concurrency=concurrency,
            lease_s=lease_s,
            poll_s=poll_s,
            grace_s=grace_s,
            name=name,
        )
        return AsyncWorker(self._transport, chosen, settings)
