"""Reading of JSON values, with a clear error for a shape that the API does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from .errors import UnexpectedResponse

T = TypeVar("T")
JsonObject = Mapping[str, Any]
"""A JSON object. The values are what `json.loads` returns."""


def obj(value: object, what: str = "an object") -> JsonObject:
    """Returns a JSON object.

    Raises:
        UnexpectedResponse: The value is none.
    """
    if isinstance(value, dict):
        return cast("JsonObject", value)
    raise UnexpectedResponse(f"expected {what}, found {type(value).__name__}")


def member(source: JsonObject, key: str, kind: type[T]) -> T:
    """Returns a member of this type.

    Raises:
        UnexpectedResponse: The member is absent or of another type.
    """
    value = source.get(key)
    # A bool is an int for Python, and none for JSON.
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise UnexpectedResponse(f"expected {key}: {kind.__name__}, found {type(value).__name__}")


def optional(source: JsonObject, key: str, kind: type[T]) -> T | None:
    """Returns a member of this type, or `None` if it is absent or null."""
    return None if source.get(key) is None else member(source, key, kind)


def strings(source: JsonObject, key: str) -> dict[str, str]:
    """Returns a member that is an object of strings. An absent one is empty."""
    found = source.get(key)
    return {name: str(value) for name, value in obj({} if found is None else found).items()}


def many(source: JsonObject, key: str, read: Callable[[JsonObject], T]) -> tuple[T, ...]:
    """Returns the items of a member that is a list of objects. An absent one is empty."""
    found = source.get(key)
    if found is None:
        return ()
    if not isinstance(found, list):
        raise UnexpectedResponse(f"expected {key}: list, found {type(found).__name__}")
    return tuple(read(obj(item)) for item in cast("Iterable[object]", found))
