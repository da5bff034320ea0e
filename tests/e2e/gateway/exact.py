"""The exact text of parts of a JSON document, as it went over the wire."""

from __future__ import annotations

import dataclasses
import json

_DECODER = json.JSONDecoder()


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def _value_end(text: str, at: int) -> int:
    return _DECODER.raw_decode(text, at)[1]


def members(text: str) -> dict[str, str]:
    """Returns the exact text of each member of an object, by its name."""
    found: dict[str, str] = {}
    at = _skip(text, _skip(text, 0) + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        begin = _skip(text, _skip(text, at) + 1)
        end = _value_end(text, begin)
        found[name] = text[begin:end]
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def elements(text: str) -> list[str]:
    """Returns the exact text of each element of an array."""
    found: list[str] = []
    at = _skip(text, _skip(text, 0) + 1)
    while text[at] != "]":
        end = _value_end(text, at)
        found.append(text[at:end])
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


@dataclasses.dataclass(frozen=True)
class Parts:
    """The calls or the responses of a message, and everything else in it."""

    kind: str
    """`calls`, `responses` or `ids`, which are those of a cancellation."""
    items: dict[str, str]
    """The exact text of each, by id, in their order."""
    beside: dict[str, str]
    """The exact text of the other members of the message, such as `usageMetadata`."""


# The member of a message, the list in it, and the kind. Python's library has the first in snake
# case.
_LISTS = (
    ("toolCall", "functionCalls", "calls"),
    ("toolCallCancellation", "ids", "ids"),
    ("toolResponse", "functionResponses", "responses"),
    ("tool_response", "functionResponses", "responses"),
    ("tool_response", "function_responses", "responses"),
)


def parts(text: str) -> Parts | None:
    """Returns the calls, responses or cancelled ids of a message, or None if it has none."""
    if not text.lstrip().startswith("{"):
        return None
    outer = members(text)
    for name, inner, kind in _LISTS:
        if name in outer and inner in (body := members(outer[name])):
            beside = {key: value for key, value in outer.items() if key != name}
            items = {_id_of(item): item for item in elements(body[inner])}
            return Parts(kind, items, beside)
    return None


def _id_of(item: str) -> str:
    value = json.loads(item)
    return str(value if isinstance(value, str) else value.get("id"))
