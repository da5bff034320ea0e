"""Helpers for pytest: recorded conversations as tests, and assertions about calls.

```python
from recount_client.testing import assert_called, play

def test_refund_is_still_asked_for() -> None:
    played = play("fixtures/refund")
    assert_called(played, "refund", args={"order": 17}, outcome="returned")
```

`play` runs the program `recount`, from `PATH` or from `RECOUNT_PROGRAM`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from .reading import JsonObject, obj
from .session import Session
from .stories import calls_of_story

__all__ = ["CalledWith", "FixtureDiffers", "Played", "assert_called", "assert_not_called", "play"]


class FixtureDiffers(AssertionError):
    """A played fixture differs from its record. The message shows where."""


@dataclass(frozen=True)
class CalledWith:
    """A call in a session or a fixture."""

    tool: str
    args: Any
    outcome: str | None
    """The outcome, such as `returned` or `denied`; `None` for an open call."""


@dataclass(frozen=True)
class Played:
    """A fixture that was played as it is on record."""

    fixture: Path
    calls: tuple[CalledWith, ...]
    """The calls of the model and of programs, in order."""
    raw: JsonObject = field(repr=False, compare=False)
    """The report of the program."""


def play(
    fixture: str | os.PathLike[str],
    *,
    config: str | os.PathLike[str] | None = None,
    policy: str | os.PathLike[str] | None = None,
    program: str | os.PathLike[str] | None = None,
) -> Played:
    """Plays a fixture: a recorded conversation, against the engine and without a network.

    Args:
        fixture: The directory of the fixture.
        config: A configuration whose tools and policies are played, in place of those on record.
        policy: A file of policies that are played.
        program: The program `recount`.

    Raises:
        FixtureDiffers: The play differs from the record.
        FileNotFoundError: The program is not installed.
        RuntimeError: The fixture cannot be played.
    """
    __tracebackhide__ = True
    options = [("--config", config), ("--policy", policy)]
    given = [str(part) for name, value in options if value for part in (name, value)]
    command = [_program(program), "fixture", "test", "--json", *given, os.fspath(fixture)]
    done = subprocess.run(  # noqa: S603 - the caller names the program.
        command, capture_output=True, text=True, check=False
    )
    report = _report(done)
    if not report.get("as_recorded"):
        raise FixtureDiffers(_difference(report))
    story = Path(fixture) / "story.txt"
    found = calls_of_story(story.read_text(encoding="utf-8").splitlines())
    calls = tuple(CalledWith(tool, args, outcome) for tool, args, outcome in found)
    return Played(Path(fixture), calls, report)


def assert_called(
    where: Session | Played | Iterable[CalledWith],
    tool: str,
    *,
    args: Mapping[str, Any] | None = None,
    outcome: str | None = None,
    times: int | None = None,
) -> list[CalledWith]:
    """Asserts that a tool was called, and returns the calls that fit.

    Args:
        where: A session of a service, or a played fixture.
        tool: The name of the tool.
        args: Arguments that a call must have, each equal; others may be beside them.
        outcome: The outcome, such as `returned` or `denied`.
        times: The exact number of calls; at least one by default.

    Raises:
        AssertionError: It was not. The message lists the calls that there were.
    """
    __tracebackhide__ = True
    calls = _calls(where)
    fitting = [it for it in calls if _fits(it, tool, args, outcome)]
    if len(fitting) != times if times is not None else not fitting:
        wanted = f"{tool} with {args}" if args is not None else tool
        wanted += f" ended as {outcome}" if outcome else ""
        count = "at least once" if times is None else f"{times} times"
        listed = "".join(f"\n  {it.tool} {it.args} ended as {it.outcome}" for it in calls)
        raise AssertionError(
            f"expected {wanted} {count}, found {len(fitting)} of {len(calls)} calls:{listed}"
        )
    return fitting


def assert_not_called(where: Session | Played | Iterable[CalledWith], tool: str) -> None:
    """Asserts that a tool was not called."""
    __tracebackhide__ = True
    assert_called(where, tool, times=0)


def _fits(call: CalledWith, tool: str, args: Mapping[str, Any] | None, outcome: str | None) -> bool:
    if call.tool != tool or (outcome is not None and call.outcome != outcome):
        return False
    if args is None:
        return True
    found = call.args
    return isinstance(found, dict) and all(
        name in found and found[name] == value for name, value in args.items()
    )


def _calls(where: Session | Played | Iterable[CalledWith]) -> list[CalledWith]:
    if isinstance(where, Played):
        return list(where.calls)
    if isinstance(where, Session):
        return [_called(row) for row in where.calls()]
    return list(where)


def _called(row: JsonObject) -> CalledWith:
    ended = row.get("ended")
    edited = row.get("edited_args")
    args = row.get("args") if edited is None else edited
    outcome = cast("str", obj(ended)["outcome"]) if ended else None
    return CalledWith(str(row["tool"]), args, outcome)


def _program(named: str | os.PathLike[str] | None) -> str:
    program = os.fspath(named or os.environ.get("RECOUNT_PROGRAM", "recount"))
    found = shutil.which(program)
    if found is None:
        raise FileNotFoundError(f"there is no program {program}; RECOUNT_PROGRAM can name it")
    return found


def _report(done: subprocess.CompletedProcess[str]) -> JsonObject:
    __tracebackhide__ = True
    line = done.stdout.strip().splitlines()[-1:]
    try:
        report = obj(json.loads(line[0])) if line else None
    except ValueError:
        report = None
    if report is None or "error" in report:
        told = done.stderr.strip() or done.stdout.strip()
        if report is not None:
            told = str(obj(report["error"]).get("what", told))
        raise RuntimeError(f"the fixture cannot be played: {told}")
    return report


def _difference(report: JsonObject) -> str:
    lines = [f"{report['fixture']} was not played as recorded"]
    signs = {"kept": " ", "recorded": "-", "played": "+", "skipped": "…"}
    for line in report.get("story") or []:
        for kind, text in obj(line).items():
            lines.append(f"{signs.get(kind, '?')} {text}")
    for sent in report.get("sent_otherwise") or []:
        lines.append(f"sent otherwise: recorded {sent['recorded']}, played {sent['played']}")
    lines += [f"not done: {it}" for it in report.get("undone") or []]
    return "\n".join(lines)
