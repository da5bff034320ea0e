"""The helpers for pytest, with the real program and a real session."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, program
from recount_client import Recount, Session
from recount_client.stories import calls_of_story
from recount_client.testing import FixtureDiffers, Played, assert_called, assert_not_called, play

FIXTURE = ROOT / "fixtures/conversations/refund"


@pytest.fixture
def recount() -> Path:
    return program("RECOUNT_PROGRAM", "debug", "recount")


def test_fixture_plays_as_recorded(recount: Path) -> None:
    played = play(FIXTURE, program=recount)
    [call] = assert_called(played, "refund", args={"order": 17}, outcome="returned", times=1)
    assert call.args == {"card": "[redacted]", "order": 17}
    assert_not_called(played, "mail")


def test_fixture_that_differs_shows_where(recount: Path, tmp_path: Path) -> None:
    copy = tmp_path / "refund"
    shutil.copytree(FIXTURE, copy)
    story = copy / "story.txt"
    story.write_text(story.read_text().replace("confirmed=true", "confirmed=false"))
    with pytest.raises(FixtureDiffers) as differs:
        play(copy, program=recount)
    text = str(differs.value)
    assert "was not played as recorded" in text
    assert "confirmed=false" in text


def test_fixture_that_cannot_be_played_is_an_error(recount: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="cannot be played"):
        play(tmp_path, program=recount)


def test_missing_program_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        play(FIXTURE, program="no-such-program")


def test_calls_of_a_session_are_asserted(client: Recount, session: Session) -> None:
    session.call("add", {"a": 2, "b": 3})
    session.start("refund", {"order": 17})
    assert_called(session, "add", args={"a": 2}, outcome="returned")
    assert_called(session, "refund", times=1)
    with pytest.raises(AssertionError, match="expected refund ended as returned at least once"):
        assert_called(session, "refund", outcome="returned")
    with pytest.raises(AssertionError, match="0 times, found 1 of 2 calls"):
        assert_not_called(session, "add")


def test_arguments_of_an_approver_are_those_of_the_call(client: Recount, session: Session) -> None:
    rows: list[dict[str, Any]] = [
        {"tool": "mail", "args": {"to": "ada"}, "edited_args": {}},
        {"tool": "mail", "args": {"to": "ada"}, "edited_args": None},
    ]
    session.calls = lambda: iter(rows)  # type: ignore[method-assign]
    assert [it.args for it in assert_called(session, "mail")] == [{}, {"to": "ada"}]


def test_story_is_read_with_any_text_in_it() -> None:
    lines = [
        '  4  user    user_text_sent          text="name=mail args={}"',
        '  6  model   function_call_received  id=#1 note="x name=y" name=refund args={"a":"b c"}',
        "  7  →       response_issued         call=6 outcome=interim",
        "  8  model   function_call_received  id=#2 name=mail",
        "  9  →       response_issued         call=6 outcome=returned of=13",
        " 10  →       call_cancelled          call=8 reason=operator",
        "no line of a story",
    ]
    assert calls_of_story(lines) == [
        ("refund", {"a": "b c"}, "returned"),
        ("mail", None, "cancelled"),
    ]
    assert Played(FIXTURE, (), {}).calls == ()
