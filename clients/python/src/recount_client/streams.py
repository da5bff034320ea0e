"""Streams of server-sent events, which resume where they were cut off."""

from __future__ import annotations

import codecs
import json
from dataclasses import dataclass
from typing import Any

from .errors import UnexpectedResponse
from .problems import problem_of
from .reading import member, obj

CONTENT_TYPE = "text/event-stream"

# The maximum size of one event, in characters. A record has up to 3 MiB.
_EVENT_MAX = 16 << 20


@dataclass(frozen=True)
class Event:
    """A server-sent event."""

    event: str
    """The kind; `message` by default."""
    data: str
    id: str
    """The id of the last event that had one: the place from which a stream resumes."""

    def json(self) -> Any:
        """Returns the data as JSON.

        Raises:
            UnexpectedResponse: It is none.
        """
        try:
            return json.loads(self.data)
        except ValueError:
            raise UnexpectedResponse("expected an event with JSON") from None


class Parser:
    """Splits a stream into its events, by the rules of the HTML standard.

    An event that the end of the stream cuts off is dropped: the stream resumes before it.
    """

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        """The id of the last event that was complete."""
        self._text = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._line = ""
        self._after_cr = False
        self._data: list[str] = []
        self._size = 0
        self._kind = ""
        self._id = last_id

    def feed(self, chunk: bytes) -> list[Event]:
        """Takes the next bytes. Returns the events that they complete.

        Raises:
            UnexpectedResponse: An event is too large.
        """
        text = self._text.decode(chunk)
        if self._after_cr and text.startswith("\n"):
            text = text[1:]
        if text:
            self._after_cr = text.endswith("\r")
        lines = (self._line + text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._line = lines.pop()
        if self._size + len(self._line) > _EVENT_MAX:
            raise UnexpectedResponse("an event is too large")
        found = (self._take(line) for line in lines)
        return [event for event in found if event is not None]

    def _take(self, line: str) -> Event | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        self._size += len(line)
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._kind = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def _dispatch(self) -> Event | None:
        data, kind = self._data, self._kind
        self._data, self._kind, self._size = [], "", 0
        self.last_id = self._id
        if not data:
            return None
        return Event(kind or "message", "\n".join(data), self.last_id)


class Reader:
    """Reads the events of a stream of this API, over its connections."""

    def __init__(self, last_id: str = "") -> None:
        self._parser = Parser(last_id)
        self.over = False
        """True once the stream has said that nothing more will come."""
        self.expired = False
        """True once the stream has said that the client is to connect again."""

    @property
    def last_id(self) -> str:
        """The id of the last event that arrived whole."""
        return self._parser.last_id

    def connected(self) -> None:
        """Begins with a new connection: what the one before cut off is dropped."""
        self._parser, self.expired = Parser(self.last_id), False

    def feed(self, chunk: bytes) -> list[Event]:
        """Takes the next bytes. Returns the events that they complete.

        Raises:
            ServiceProblem: The service cannot continue the stream.
            UnexpectedResponse: An event is none of this API.
        """
        found = []
        for event in self._parser.feed(chunk):
            if event.event == "problem":
                problem = obj(event.json())
                raise problem_of(member(problem, "status", int), problem)
            if event.event == "end":
                reason = obj(event.json()).get("reason")
                self.over = reason in ("closed", "done")
                self.expired = reason == "expired"
            else:
                found.append(event)
        return found
