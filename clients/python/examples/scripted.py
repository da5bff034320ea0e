"""A model that follows a script, so that the examples need no key and always do the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ToolCall:
    """A call that the model wants."""

    id: str
    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Turn:
    """A turn of the model: words, and the calls that it wants."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass
class ScriptedModel:
    """Returns its turns in order, and keeps what it was told."""

    turns: list[Turn]
    told: list[Any] = field(default_factory=list)

    def turn(self, told: object) -> Turn:
        """Returns the next turn."""
        self.told.append(told)
        return self.turns.pop(0)


def refunding() -> ScriptedModel:
    """A model that refunds an order and then says so."""
    call = ToolCall("call-1", "refund", {"order": 17})
    return ScriptedModel([Turn(calls=(call,)), Turn("Order 17 has its money back.")])
