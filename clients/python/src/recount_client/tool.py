"""Functions as client-run tools."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from .handles import active
from .waiting import first_wait

if TYPE_CHECKING:
    from .async_session import AsyncCall, AsyncSession
    from .session import Call, Session

P = ParamSpec("P")
R = TypeVar("R")
Kind = TypeVar("Kind", bound="ToolFunction[Any, Any]")

# The key under which the service records a result that is no object.
_OUTPUT = "output"


class ToolFailure(Exception):
    """A failure whose text is recorded and sent to the model.

    Of any other exception that a function raises, only the type is recorded: its text may contain
    secrets.

    ```python
    @client.tool("pack")
    def pack(order: int) -> dict[str, int]:
        raise ToolFailure("out of boxes")
    ```
    """


def checked_name(name: object) -> None:
    """Refuses `@client.tool` without a call, which would take the function for the name.

    Raises:
        TypeError: The name is no text.
    """
    if not isinstance(name, str | None):
        raise TypeError("a tool is declared by a call: @client.tool()")


def register(tools: dict[str, Kind], tool: Kind) -> None:
    """Adds a tool to those of a client.

    Raises:
        ValueError: There is a tool with this name already.
    """
    if tool.name in tools:
        raise ValueError(f"there is a tool {tool.name} already")
    tools[tool.name] = tool


class ToolFunction(Generic[P, R]):
    """A function, the name of its tool, and the conversion of arguments and results."""

    def __init__(self, function: Callable[P, Any], name: str | None) -> None:
        self.name = name or str(getattr(function, "__name__", ""))
        """The name of the tool."""
        if not self.name:
            raise TypeError("the function has no name: give the tool one")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{self.name}: a tool returns its result; see yield_result for several")
        self.function = function
        self.signature = inspect.signature(function)
        for parameter in self.signature.parameters.values():
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                raise TypeError(f"{self.name}: arguments of a tool have names, / hides them")
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                raise TypeError(f"{self.name}: arguments of a tool have names, * has none")
        self._object = _returns_object(function)

    def arguments(self, *args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        """Returns the arguments of a call as a JSON object."""
        found: dict[str, Any] = {}
        for name, value in self.signature.bind(*args, **kwargs).arguments.items():
            kind = self.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                found.update(value)
            else:
                found[name] = value
        return found

    def bound(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments on record, if the function takes them.

        Raises:
            ToolFailure: It does not.
        """
        try:
            self.signature.bind(**args)
        except TypeError as error:
            raise ToolFailure(f"the function {self.name} does not take it: {error}") from None
        return dict(args)

    def result(self, response: Any) -> R:
        """Returns the result of the function from the response on record."""
        if not self._object and isinstance(response, dict) and response.keys() == {_OUTPUT}:
            return cast("R", response[_OUTPUT])
        return cast("R", response)


class Tool(ToolFunction[P, R]):
    """A function that a worker runs as a client-run tool.

    A call of it is recorded, passes the policies and approvals of the agent, and is run by a worker
    of this or another process. The result is that on record.

    ```python
    @client.tool("pack")
    def pack(order: int) -> dict[str, int]:
        return {"packed": order}

    with client.worker():
        print(pack.within(session, key="pack-17")(order=17))
    ```
    """

    def __init__(self, function: Callable[P, Any], name: str | None) -> None:
        super().__init__(function, name)
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{self.name}: an async function is a tool of AsyncRecount")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the tool in the session of the surrounding `with session:`."""
        from .session import Session  # noqa: PLC0415 - sessions import the operations first.

        return self.within(active(Session))(*args, **kwargs)

    def within(
        self, session: Session, *, key: str | None = None, timeout: float | None = None
    ) -> BoundTool[P, R]:
        """Returns the function as it runs in a session, with an idempotency key.

        The same key and the same arguments are the same call, also after a restart.
        """
        return BoundTool(self, session, key, timeout)


class BoundTool(Generic[P, R]):
    """A tool in a session."""

    def __init__(
        self, tool: ToolFunction[P, R], session: Session, key: str | None, timeout: float | None
    ) -> None:
        self._tool, self._session, self._key, self._timeout = tool, session, key, timeout

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the tool and waits for its result.

        Raises:
            CallFailed: The call ended without a result.
            NotYet: The call has not ended within the timeout. It goes on.
        """
        call = self._begin(self._tool.arguments(*args, **kwargs), first_wait(self._timeout))
        return self._tool.result(call.wait(timeout=self._timeout).result())

    def start(self, *args: P.args, **kwargs: P.kwargs) -> Call:
        """Calls the tool, and does not wait for its result."""
        return self._begin(self._tool.arguments(*args, **kwargs), 0)

    def _begin(self, args: dict[str, Any], wait: float) -> Call:
        return self._session.start(self._tool.name, args, key=self._key, wait=wait)


class AsyncTool(ToolFunction[P, R]):
    """A function that an `AsyncWorker` runs as a client-run tool.

    An `async` function runs as a task, another one in a thread.

    ```python
    @client.tool("pack")
    async def pack(order: int) -> dict[str, int]:
        return {"packed": order}

    async with client.worker():
        print(await pack.within(session, key="pack-17")(order=17))
    ```
    """

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the tool in the session of the surrounding `with session:`."""
        from .async_session import AsyncSession  # noqa: PLC0415

        return await self.within(active(AsyncSession))(*args, **kwargs)

    def within(
        self, session: AsyncSession, *, key: str | None = None, timeout: float | None = None
    ) -> AsyncBoundTool[P, R]:
        """Returns the function as it runs in a session, with an idempotency key.

        The same key and the same arguments are the same call, also after a restart.
        """
        return AsyncBoundTool(self, session, key, timeout)


class AsyncBoundTool(Generic[P, R]):
    """A tool in a session."""

    def __init__(
        self,
        tool: ToolFunction[P, R],
        session: AsyncSession,
        key: str | None,
        timeout: float | None,
    ) -> None:
        self._tool, self._session, self._key, self._timeout = tool, session, key, timeout

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the tool and waits for its result.

        Raises:
            CallFailed: The call ended without a result.
            NotYet: The call has not ended within the timeout. It goes on.
        """
        call = await self._begin(self._tool.arguments(*args, **kwargs), first_wait(self._timeout))
        state = await call.wait(timeout=self._timeout)
        return self._tool.result(state.result())

    async def start(self, *args: P.args, **kwargs: P.kwargs) -> AsyncCall:
        """Calls the tool, and does not wait for its result."""
        return await self._begin(self._tool.arguments(*args, **kwargs), 0)

    async def _begin(self, args: dict[str, Any], wait: float) -> AsyncCall:
        return await self._session.start(self._tool.name, args, key=self._key, wait=wait)


def _returns_object(function: Callable[..., Any]) -> bool:
    """True if the function says that it returns an object, which may have any key."""
    try:
        found = typing.get_type_hints(function).get("return")
    except (NameError, TypeError):
        return False
    kinds = typing.get_args(found) if isinstance(found, types.UnionType) else (found,)
    return any(_is_object(kind) for kind in kinds)


def _is_object(kind: object) -> bool:
    origin = typing.get_origin(kind) or kind
    return isinstance(origin, type) and issubclass(origin, Mapping)
