"""Reading of the story of a fixture: one event a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

# The number of the event, its actor, its kind and its content.
_LINE = re.compile(r"\s*(\d+)\s+\S+\s+(\w+)\s*(.*)")
_FIELD = re.compile(r"(?:^| )(\w+)=")


def calls_of_story(lines: Iterable[str]) -> list[tuple[str, Any, str | None]]:
    """Returns the calls of a story: the tool, the arguments, and the last outcome."""
    calls: dict[str, tuple[str, Any, str | None]] = {}
    for line in lines:
        found = _LINE.match(line)
        if not found:
            continue
        number, kind, content = found.groups()
        if kind == "function_call_received":
            calls[number] = (_word(content, "name"), _json(content, "args"), None)
        elif kind == "response_issued" and _word(content, "outcome") != "interim":
            _end(calls, _word(content, "call"), _word(content, "outcome"))
        elif kind == "call_cancelled":
            _end(calls, _word(content, "call"), "cancelled")
    return list(calls.values())


def _end(calls: dict[str, tuple[str, Any, str | None]], call: str, outcome: str) -> None:
    if call in calls:
        tool, args, _ = calls[call]
        calls[call] = (tool, args, outcome)


def _place(content: str, name: str) -> int | None:
    """Returns the place after `name=`, outside of any value."""
    at = 0
    while found := _FIELD.search(content, at):
        if found[1] == name:
            return found.end()
        at = _after_value(content, found.end())
    return None


def _after_value(content: str, at: int) -> int:
    """Returns the place after the value that begins here."""
    try:
        return json.JSONDecoder().raw_decode(content, at)[1]
    except ValueError:
        end = content.find(" ", at)
        return len(content) if end < 0 else end


def _word(content: str, name: str) -> str:
    place = _place(content, name)
    if place is None:
        return ""
    return content[place : _after_value(content, place)].strip('"')


def _json(content: str, name: str) -> Any:
    place = _place(content, name)
    if place is None:
        return None
    try:
        return json.JSONDecoder().raw_decode(content, place)[0]
    except ValueError:
        return None
