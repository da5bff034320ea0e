"""Sending of requests: the address, the token, the responses, and the repetitions."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, TypeVar

import httpx

from .errors import ClientClosed, UnexpectedResponse, Unreachable
from .problems import ServiceProblem, problem_of
from .requests import Request, Response
from .retry import Failure, Retry
from .streams import CONTENT_TYPE, Event, Reader

T = TypeVar("T")

# The time that a response may take beyond what the service holds back, in seconds.
_MARGIN_S = 30.0

# The time after which a silent stream is opened again, in seconds.
_SILENCE_S = 60.0

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

# The request was not sent: no connection, or no room for one.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def service_of_environment() -> tuple[str, str]:
    """Returns the address and the token of `RECOUNT_URL` and `RECOUNT_TOKEN`.

    Raises:
        ValueError: `RECOUNT_TOKEN` is not set.
    """
    token = os.environ.get("RECOUNT_TOKEN")
    if not token:
        raise ValueError("RECOUNT_TOKEN is not set: `recount token create` makes a token")
    return os.environ.get("RECOUNT_URL", "http://127.0.0.1:7878"), token


def checked_url(url: str, *, insecure: bool) -> httpx.URL:
    """Returns the address of a service.

    Raises:
        ValueError: It is none, or the token would leave this machine in clear.
    """
    address = httpx.URL(url.rstrip("/"))
    if address.scheme not in ("http", "https") or not address.host:
        raise ValueError(f"expected an http or https URL, found {url!r}")
    if address.userinfo or address.query or address.fragment:
        raise ValueError("expected a URL without user, query and fragment")
    if address.scheme == "http" and not is_loopback(address) and not insecure:
        raise ValueError(
            "http would send the token in clear: use https, or insecure=True in a network that "
            "protects it"
        )
    return address


def is_loopback(url: httpx.URL) -> bool:
    """True if the address is of this machine."""
    return url.host in _LOOPBACK


def headers(token: str | None) -> dict[str, str]:
    """Returns the headers of every request.

    Raises:
        ValueError: The token is empty, or no printable ASCII text. The message does not contain it.
    """
    found = {"Accept": "application/json", "User-Agent": "recount-client-python"}
    if token is not None:
        if not token:
            raise ValueError("the token is empty")
        if not (token.isascii() and token.isprintable()) or " " in token:
            raise ValueError("the token is no printable ASCII text without spaces and line breaks")
        found["Authorization"] = f"Bearer {token}"
    return found


def built(
    client: httpx.Client | httpx.AsyncClient, base: httpx.URL, request: Request[Any]
) -> httpx.Request:
    """Returns a request for httpx, with the headers of the client."""
    return client.build_request(
        request.method,
        f"{base}{request.path}",
        params=list(request.query) or None,
        content=request.body,
        headers=dict(request.headers),
        timeout=httpx.Timeout(_MARGIN_S, read=_MARGIN_S + request.wait),
    )


def outcome(response: httpx.Response, *, repeated: bool) -> Response | ServiceProblem:
    """Reads a response.

    Raises:
        UnexpectedResponse: It is none of this API.
    """
    text = response.content
    try:
        value = response.json() if text else None
    except ValueError:
        value = None
        if response.is_success:
            raise UnexpectedResponse(f"expected JSON, found {len(text)} other bytes") from None
    if response.is_success:
        return Response(response.status_code, response.headers, value, repeated)
    if response.status_code < 400:
        raise UnexpectedResponse(f"expected no redirection, found {response.status_code}")
    raw = value if isinstance(value, dict) else {"detail": response.reason_phrase}
    return problem_of(response.status_code, raw, _retry_after(response))


def _retry_after(response: httpx.Response) -> float | None:
    found = response.headers.get("retry-after", "")
    return float(found) if found.isascii() and found.isdigit() else None


def failure_of(error: httpx.TransportError) -> Failure:
    """Returns the failure of an attempt without a response."""
    return Failure(sent=not isinstance(error, _NOT_SENT))


def unreachable(base: httpx.URL, request: Request[Any], error: Exception) -> Unreachable:
    """Returns the exception for a request that got no response."""
    what = str(error) or type(error).__name__
    return Unreachable(f"no response of {base} to {request.method} {request.path}: {what}")


def opening(
    client: httpx.Client | httpx.AsyncClient, base: httpx.URL, request: Request[Any], last_id: str
) -> httpx.Request:
    """Returns the request for a stream, which continues after an event."""
    found = {"Accept": CONTENT_TYPE}
    if last_id:
        found["Last-Event-ID"] = last_id
    return client.build_request(
        request.method,
        f"{base}{request.path}",
        params=list(request.query) or None,
        headers=found,
        timeout=httpx.Timeout(_MARGIN_S, read=_SILENCE_S),
    )


def expect_stream(response: httpx.Response) -> None:
    """Checks that a response is a stream.

    Raises:
        ServiceProblem: It is no success.
        UnexpectedResponse: It is something else.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if response.is_success and kind == CONTENT_TYPE:
        return
    if not response.is_success:
        found = outcome(response, repeated=False)
        if isinstance(found, ServiceProblem):
            raise found
    raise UnexpectedResponse(f"expected {CONTENT_TYPE}, found {kind or 'no content type'}")


Failed = httpx.TransportError | ServiceProblem | None
"""The failure of an attempt: no response, a response, or a stream that was cut off."""


class Attempts:
    """The attempts of one request. Both transports follow it; it sends nothing and never waits."""

    def __init__(self, base: httpx.URL, request: Request[Any], retry: Retry) -> None:
        self._base, self._request, self._retry = base, request, retry
        self._number = 1

    @property
    def repeated(self) -> bool:
        """True if the request was sent before."""
        return self._number > 1

    def succeeded(self) -> None:
        """Begins to count again, as after an event of a stream."""
        self._number = 1

    def pause_after(self, failed: Failed) -> float:
        """Returns the time before the next attempt, in seconds.

        Raises:
            ServiceProblem: The response, if the API or the rule allows no other attempt.
            Unreachable: There was no response, likewise.
        """
        error: Exception
        if isinstance(failed, ServiceProblem):
            failure, error = Failure(sent=True, problem=failed), failed
        elif failed is None:
            failure, error = Failure(sent=True), Unreachable(f"{self._request.path}: cut off")
        else:
            failure, error = failure_of(failed), unreachable(self._base, self._request, failed)
        pause = self._retry.pause(self._number, self._request.repeat, failure)
        if pause is None:
            raise error
        self._number += 1
        return pause


def check_open(http: httpx.Client | httpx.AsyncClient) -> None:
    """Checks that a client was not closed.

    Raises:
        ClientClosed: It was.
    """
    if http.is_closed:
        raise ClientClosed("the client is closed")


class Transport:
    """Sends requests and waits for their responses."""

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        retry: Retry,
        insecure: bool,
        transport: httpx.BaseTransport | None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.base = checked_url(url, insecure=insecure)
        self.retry, self._pause = retry, pause
        # A proxy of the environment must not see what is sent within this machine.
        trusted = not is_loopback(self.base)
        self.http = httpx.Client(
            headers=headers(token),
            transport=transport,
            trust_env=trusted,
            limits=httpx.Limits(max_connections=None),
        )

    def send(self, request: Request[T]) -> T:
        """Sends a request, again if the API allows that.

        Raises:
            ServiceProblem: The response is no success.
            Unreachable: There is no response.
        """
        attempts = Attempts(self.base, request, self.retry)
        while True:
            check_open(self.http)
            failed: Failed
            try:
                response = self.http.send(built(self.http, self.base, request))
                found = outcome(response, repeated=attempts.repeated)
                if isinstance(found, Response):
                    return request.read(found)
                failed = found
            except httpx.TransportError as lost:
                failed = lost
            self._pause(attempts.pause_after(failed))

    def stream(self, request: Request[Response]) -> Generator[Event, None, None]:
        """Iterates over the events of a stream, which is opened again where it was cut off.

        Raises:
            ServiceProblem: The service refuses it.
            Unreachable: It cannot be opened any more.
        """
        reader, attempts = Reader(), Attempts(self.base, request, self.retry)
        while not reader.over:
            check_open(self.http)
            failed: Failed = None
            try:
                opened = opening(self.http, self.base, request, reader.last_id)
                response = self.http.send(opened, stream=True)
                with contextlib.closing(response):
                    if not response.is_success:
                        response.read()
                    expect_stream(response)
                    for chunk in response.iter_bytes():
                        for event in reader.feed(chunk):
                            attempts.succeeded()
                            yield event
            except (ServiceProblem, httpx.TransportError) as error:
                failed = error
            if not (reader.over or reader.expired):
                self._pause(attempts.pause_after(failed))
            reader.connected()

    def close(self) -> None:
        """Closes the connections."""
        self.http.close()


class AsyncTransport:
    """Sends requests and waits for their responses, as a task."""

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        retry: Retry,
        insecure: bool,
        transport: httpx.AsyncBaseTransport | None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.base = checked_url(url, insecure=insecure)
        self.retry, self._pause = retry, pause
        self.http = httpx.AsyncClient(
            headers=headers(token),
            transport=transport,
            trust_env=not is_loopback(self.base),
            limits=httpx.Limits(max_connections=None),
        )

    async def send(self, request: Request[T]) -> T:
        """Sends a request, again if the API allows that.

        Raises:
            ServiceProblem: The response is no success.
            Unreachable: There is no response.
        """
        attempts = Attempts(self.base, request, self.retry)
        while True:
            check_open(self.http)
            failed: Failed
            try:
                response = await self.http.send(built(self.http, self.base, request))
                found = outcome(response, repeated=attempts.repeated)
                if isinstance(found, Response):
                    return request.read(found)
                failed = found
            except httpx.TransportError as lost:
                failed = lost
            await self._pause(attempts.pause_after(failed))

    async def stream(self, request: Request[Response]) -> AsyncGenerator[Event, None]:
        """Iterates over the events of a stream, which is opened again where it was cut off.

        Raises:
            ServiceProblem: The service refuses it.
            Unreachable: It cannot be opened any more.
        """
        reader, attempts = Reader(), Attempts(self.base, request, self.retry)
        while not reader.over:
            check_open(self.http)
            failed: Failed = None
            try:
                opened = opening(self.http, self.base, request, reader.last_id)
                response = await self.http.send(opened, stream=True)
                async with contextlib.aclosing(response):
                    if not response.is_success:
                        await response.aread()
                    expect_stream(response)
                    async for chunk in response.aiter_bytes():
                        for event in reader.feed(chunk):
                            attempts.succeeded()
                            yield event
            except (ServiceProblem, httpx.TransportError) as error:
                failed = error
            if not (reader.over or reader.expired):
                await self._pause(attempts.pause_after(failed))
            reader.connected()

    async def close(self) -> None:
        """Closes the connections."""
        await self.http.aclose()
