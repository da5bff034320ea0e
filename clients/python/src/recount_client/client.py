"""The client."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from . import operations as ops
from .calls import parsed_ref
from .claiming import WorkerSettings
from .paging import pages
from .retry import Retry
from .session import Call, Session
from .tool import Tool, checked_name, register
from .transport import Transport, service_of_environment
from .worker import Worker

if TYPE_CHECKING:
    from types import TracebackType

    import httpx

    from .calls import Confirmation, Waiting
    from .models import Hold, Leave, Me, OnRecord, Pause, SessionInfo

P = ParamSpec("P")
R = TypeVar("R")


class Recount:
    """A client of a service, for threads. Several threads may use one client.

    ```python
    with Recount("http://127.0.0.1:7878", token) as client:
        for waiting in client.pending():
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
        transport: httpx.BaseTransport | None = None,
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
        self._transport = Transport(
            url, token, retry=retry or Retry(), insecure=insecure, transport=transport
        )
        self._tools: dict[str, Tool[Any, Any]] = {}

    @staticmethod
    def from_env() -> Recount:
        """Creates a client of the service in `RECOUNT_URL`, with the token in `RECOUNT_TOKEN`.

        Raises:
            ValueError: `RECOUNT_TOKEN` is not set, or a value is unfit.
        """
        return Recount(*service_of_environment())

    def __repr__(self) -> str:
        return f"Recount({str(self._transport.base)!r})"

    def __enter__(self) -> Recount:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def me(self) -> Me:
        """Returns the caller, as its token proves it."""
        return self._transport.send(ops.me())

    # Sessions and calls.

    def open_session(
        self,
        agent: str,
        *,
        external_id: str | None = None,
        on_behalf_of: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Session:
        """Opens a session that this program drives.

        A second session with the same `external_id` is another one, in which no key is known. Keep
        the id of the session: `session` returns it in the next process. After a lost response,
        `sessions` finds it by its `external_id`, with the role `viewer`.
        """
        request = ops.open_session(agent, external_id, on_behalf_of, labels)
        return Session(self._transport, self._transport.send(request).session)

    def session(self, identifier: str) -> Session:
        """Returns a session by its id. Nothing is sent."""
        return Session(self._transport, identifier)

    def sessions(
        self,
        *,
        agent: str | None = None,
        labels: Mapping[str, str] | None = None,
        state: str | None = None,
        since: str | int | None = None,
        until: str | int | None = None,
        text: str | None = None,
    ) -> Iterator[SessionInfo]:
        """Iterates over sessions, newest first.

        Args:
            agent: The agent.
            labels: Labels that a session must have, all of them.
            state: `open` or `closed`.
            since: Sessions with a record at this time or later: RFC 3339, or microseconds.
            until: Sessions opened before this time.
            text: A part of the id, the agent, a label, the external id or `on_behalf_of`.
        """

        def page(cursor: str | None) -> ops.Page[SessionInfo]:
            request = ops.sessions(
                agent=agent,
                labels=labels,
                state=state,
                since=since,
                until=until,
                text=text,
                cursor=cursor,
            )
            return self._transport.send(request)

        return pages(page)

    def resume(self, call_ref: str) -> Call:
        """Returns a call by its reference, also one of another process. Nothing is sent.

        Raises:
            ValueError: The text is no reference.
        """
        session, call = parsed_ref(call_ref)
        return Call(self._transport, session, call)

    # Answers.

    def watch_pending(
        self,
        *,
        agent: str | None = None,
        labels: Mapping[str, str] | None = None,
        session: Session | str | None = None,
    ) -> Generator[tuple[Waiting, ...], None, None]:
        """Iterates over what waits for an answer: now, and after each change, without an end.

        Changes that follow each other quickly are one item. It has the first 1,000 entries.
        """
        only = session.id if isinstance(session, Session) else session
        request = ops.pending_events(agent, labels, only)
        for event in self._transport.stream(request):
            yield ops.waiting_in(event)

    def pending(
        self,
        *,
        agent: str | None = None,
        labels: Mapping[str, str] | None = None,
        session: Session | str | None = None,
    ) -> Iterator[Waiting]:
        """Iterates over what waits for an answer: confirmation requests and paused calls."""
        only = session.id if isinstance(session, Session) else session
        return pages(lambda cursor: self._transport.send(ops.pending(agent, labels, only, cursor)))

    def approve(
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
        return self._transport.send(sent)

    def deny(self, request: Confirmation | str, *, reason: str | None = None) -> OnRecord:
        """Denies a request. The model is told the reason. Raises what `approve` raises."""
        return self._transport.send(ops.answer(request, confirmed=False, reason=reason))

    def answer_all(
        self,
        requests: Iterable[Confirmation | str],
        *,
        confirmed: bool,
        reason: str | None = None,
    ) -> list[ops.OneOutcome]:
        """Gives one answer to several requests. Each has an outcome of its own."""
        return self._transport.send(ops.answer_all(requests, confirmed=confirmed, reason=reason))

    def settle(
        self, request: Confirmation | str, *, done: Any = None, failed: str | None = None
    ) -> OnRecord:
        """Answers a request about a call in doubt with what the call did."""
        return self._transport.send(ops.settle(request, ops.finding(done=done, failed=failed)))

    def leaves(self) -> tuple[Leave, ...]:
        """Returns the standing leaves in force."""
        return self._transport.send(ops.leaves()).items

    def revoke(self, leave: Leave, *, reason: str | None = None) -> OnRecord:
        """Revokes a standing leave."""
        return self._transport.send(ops.revoke(leave, reason))

    def pauses(self) -> tuple[Pause, ...]:
        """Returns the pauses in force."""
        return self._transport.send(ops.pauses()).items

    def pause(
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
        return self._transport.send(ops.pause(target, reason, cancel_running=cancel_running))

    def unpause(self, target: Mapping[str, Any] | str, *, reason: str | None = None) -> OnRecord:
        """Ends a pause."""
        return self._transport.send(ops.unpause(target, reason))

    def holds(self) -> tuple[Hold, ...]:
        """Returns the legal holds in force."""
        return self._transport.send(ops.holds()).items

    def hold(self, target: Mapping[str, Any], *, reason: str) -> OnRecord:
        """Keeps sessions from erasure. The `seq` of the result is the number of the hold.

        `target` is `{"session": ID}` or `{"label": {"key": KEY, "value": VALUE}}`.
        """
        return self._transport.send(ops.hold(target, reason))

    def unhold(self, hold: int, *, reason: str) -> OnRecord:
        """Releases the legal hold with this number."""
        return self._transport.send(ops.unhold(hold, reason))

    # Tools.

    def tool(self, name: str | None = None) -> Callable[[Callable[P, R]], Tool[P, R]]:
        """Makes a function a client-run tool: its calls are recorded, gated, and run by a worker.

        The agent of the service declares a tool of this name with its schema and policies. The
        default name is that of the function.

        ```python
        @client.tool("refund")
        def refund(order: int) -> dict[str, bool]:
            return {"refunded": bank.refund(order, key=current_call().idempotency_key)}

        with client.worker(), client.open_session("support"):
            refund(order=17)  # Waits for the approval and for the result.
        ```
        """
        checked_name(name)

        def declared(function: Callable[P, R]) -> Tool[P, R]:
            tool: Tool[P, R] = Tool(function, name)
            register(self._tools, tool)
            return tool

        return declared

    def worker(
        self,
        tools: Iterable[Tool[Any, Any]] | None = None,
        *,
        agents: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        concurrency: int = 4,
        lease_s: float = 60,
        poll_s: int = 5,
        grace_s: float = 30,
        name: str | None = None,
    ) -> Worker:
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
        return Worker(self._transport, chosen, settings)
