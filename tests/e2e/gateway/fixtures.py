"""The sessions of a gateway as fixtures: each is exported, with and without a field, and plays.

It also asks what a stricter policy would have held.
"""

from __future__ import annotations

import json
import pathlib
import tempfile
from typing import Any

from gateway import Gateway

# The argument that the redacted fixtures do not have. Its values are in no other place.
FIELD = "order"

# The tool of the calls that were observed, and a policy that gates it.
OBSERVED = "look_up"
GATE = f'[tools.{OBSERVED}]\nconfirm = "Look it up?"\n'


def check(gateway: Gateway) -> int:
    """Plays all sessions on record, and redacts them. Returns their number."""
    with tempfile.TemporaryDirectory() as temporary:
        whole, redacted = pathlib.Path(temporary, "whole"), pathlib.Path(temporary, "redacted")
        count = play(gateway, whole)
        play(gateway, redacted, "--redact", f"/{FIELD}")
        values = {args[FIELD] for it in gateway.decisions() if FIELD in (args := it["args"])}
        left = text(redacted)
        assert values <= set(text(whole).split('"')), f"the search does not find all of {values}"
        assert not (kept := [it for it in values if it in left]), f"not redacted: {kept}"
    what_if(gateway)
    return count


def play(gateway: Gateway, directory: pathlib.Path, *options: str) -> int:
    """Exports each session into a directory, and plays all. Returns their number."""
    sessions = [it["session"] for it in lines(gateway, "sessions", "journal", "--json")]
    for session in sessions:
        target = str(directory / session)
        run(gateway, "fixture", "export", "journal", session, target, *options)
    run(gateway, "fixture", "test", *map(str, directory.iterdir()))
    return len(sessions)


def what_if(gateway: Gateway) -> None:
    """A policy that gates the observed calls would have held each of them, and no other."""
    directory = gateway.service.directory
    policies = (directory / "policies.toml").read_text() + GATE
    (directory / "stricter.toml").write_text(policies)
    told = lines(gateway, "replay", "journal", "--policy", "stricter.toml", "--json")
    calls = [it for it in told if "tool" in it]
    for call in calls:
        verdicts = call["recorded"]["verdict"], call["policy"]["verdict"]
        assert call["changed"] == (call["tool"] == OBSERVED), call
        assert verdicts == ("allowed", "ask") or not call["changed"], call
    assert len(calls) == len(gateway.decisions()), f"{len(calls)} calls were decided again"


def text(directory: pathlib.Path) -> str:
    """Returns all text of the files below a directory."""
    return "\n".join(it.read_text() for it in directory.rglob("*") if it.is_file())


def run(gateway: Gateway, *command: str) -> str:
    """Runs a command of the program, which must succeed. Returns its output."""
    done = gateway.service.run(*command)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
    return done.stdout


def lines(gateway: Gateway, *command: str) -> list[dict[str, Any]]:
    """Runs a command that prints lines of JSON, and returns them."""
    return [json.loads(line) for line in run(gateway, *command).splitlines()]
