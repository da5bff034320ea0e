"""Requests as values. The two clients send the same ones."""

from __future__ import annotations

import enum
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

T = TypeVar("T")


class Repeat(enum.Enum):
    """The condition under which a request may be sent again."""

    SAFE = "a GET"
    KEYED = "the API makes a second one harmless"
    LOST = "as KEYED, and only if no response arrived"
    ONCE = "only if the first one was not sent"


@dataclass(frozen=True)
class Response:
    """A response that is a success."""

    status: int
    headers: Mapping[str, str]
    json: Any
    repeated: bool
    """True if the request was sent more than once."""


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request, and the reader of its response."""

    method: str
    path: str
    read: Callable[[Response], T]
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeat: Repeat = Repeat.SAFE
    wait: float = 0
    """The seconds for which the service may hold the response back."""


def path(*parts: str | int) -> str:
    """Returns a path below `/v1`, in which each part is one segment."""
    return "/v1/" + "/".join(quote(str(part), safe="") for part in parts)


def get(
    where: str,
    read: Callable[[Response], T],
    query: Mapping[str, object] | None = None,
    *,
    wait: int = 0,
) -> Request[T]:
    """A GET. Members of the query that are `None` are left out; a list gives several."""
    pairs: list[tuple[str, str]] = []
    for name, value in (query or {}).items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(name, str(one)) for one in values if one is not None]
    if wait > 0:
        pairs.append(("wait", str(wait)))
    return Request("GET", where, read, tuple(pairs), wait=wait)


def post(
    where: str,
    read: Callable[[Response], T],
    body: Mapping[str, object],
    *,
    key: str | None = None,
    repeat: Repeat = Repeat.KEYED,
    prefer_wait: int | None = None,
    wait: int = 0,
) -> Request[T]:
    """A POST of JSON, with an idempotency key: the given one, or one of its own.

    Raises:
        ValueError: The key is no printable ASCII text of 1 to 200 characters, or the body contains
            a number that JSON does not have.
        TypeError: The body contains a value that JSON does not have.
    """
    headers = {"Idempotency-Key": fit_key(key or str(uuid.uuid4()))}
    if prefer_wait is not None:
        headers["Prefer"] = f"wait={prefer_wait}"
    headers["Content-Type"] = "application/json"
    return Request(
        "POST",
        where,
        read,
        body=encoded(dict(body)),
        headers=headers,
        repeat=repeat,
        wait=max(wait, prefer_wait or 0),
    )


def present(**members: object) -> dict[str, object]:
    """Returns the members that are not `None`: the API takes no null for an absent one."""
    return {name: value for name, value in members.items() if value is not None}


def encoded(value: object) -> bytes:
    """Returns a value as JSON."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def fit_key(key: str) -> str:
    """Returns a key that fits a header.

    Raises:
        ValueError: It does not fit.
    """
    if not (1 <= len(key) <= 200 and key.isascii() and key.isprintable()):
        raise ValueError("an idempotency key is 1 to 200 printable ASCII characters")
    return key
