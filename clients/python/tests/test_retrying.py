"""The rule that says when a request is sent again, and what never leaves the client."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import httpx
import pytest

from conftest import ROOT
from recount_client import (
    AsyncRecount,
    NotFound,
    Recount,
    Retry,
    ServiceFailed,
    UnexpectedResponse,
    Unreachable,
)
from recount_client.problems import CODES, problem_of
from recount_client.requests import Repeat
from recount_client.retry import Failure

DRAINING = problem_of(503, {"code": "draining"}, 5)
PROXY = problem_of(502, {})
MAY_BE_ON_RECORD = problem_of(503, {"code": "journal-unavailable"})
ON_RECORD = problem_of(
    503,
    {
        "code": "not-writable",
        "on_record": {
            "session": "s",
            "seq": 4,
            "tool": "pay",
            "by": {"name": "ada", "authenticated_by": "token"},
        },
    },
)


@pytest.mark.parametrize(
    ("failure", "safe", "keyed", "once"),
    [
        (Failure(sent=False), True, True, True),
        (Failure(sent=True), True, True, False),
        (Failure(True, DRAINING), True, True, True),
        (Failure(True, PROXY), True, True, False),
        (Failure(True, MAY_BE_ON_RECORD), True, True, False),
        (Failure(True, ON_RECORD), False, False, False),
        (Failure(True, problem_of(409, {"code": "idempotency-in-progress"})), False, True, False),
        (Failure(True, problem_of(409, {"code": "already-answered"})), False, False, False),
        (Failure(True, problem_of(404, {"code": "not-found"})), False, False, False),
        (Failure(True, problem_of(500, {"code": "engine"})), False, False, False),
    ],
)
def test_repetition_needs_a_harmless_second_request(
    failure: Failure, safe: bool, keyed: bool, once: bool
) -> None:
    rule = Retry()
    in_progress = failure.problem is not None and failure.problem.code.startswith("idempotency")
    lost = failure.problem is None or in_progress
    expectations = (
        (Repeat.SAFE, safe),
        (Repeat.KEYED, keyed),
        (Repeat.LOST, lost),
        (Repeat.ONCE, once),
    )
    for repeat, expected in expectations:
        assert (rule.pause(1, repeat, failure) is not None) is expected, repeat


def test_times_between_attempts_are_bounded() -> None:
    rule, lost = Retry(attempts=4, first_s=1, most_s=3), Failure(sent=False)
    for attempt, bound in ((1, 1), (2, 2), (3, 3)):
        pause = rule.pause(attempt, Repeat.SAFE, lost)
        assert pause is not None
        assert 0 <= pause <= bound
    assert rule.pause(4, Repeat.SAFE, lost) is None
    pause = rule.pause(1, Repeat.SAFE, Failure(True, DRAINING))
    assert pause is not None
    assert pause >= 5
    assert Retry.none().pause(1, Repeat.SAFE, lost) is None


def test_every_code_of_the_service_has_its_class() -> None:
    table = ROOT / "crates/server/src/problems/codes.rs"
    rows = re.findall(r'^\s+\w+ "([a-z-]+)" ([A-Z_]+)', table.read_text(), re.MULTILINE)
    assert len(rows) > 80
    # This name is that of axum, and not that of Python.
    renamed = {"PAYLOAD_TOO_LARGE": "REQUEST_ENTITY_TOO_LARGE"}
    codes = {code: int(httpx.codes[renamed.get(name, name)]) for code, name in rows}
    assert set(CODES) <= set(codes)
    for code, status in codes.items():
        own, general = problem_of(status, {"code": code}), problem_of(status, {"code": "new"})
        # The class of a code is more special than that of its status, or it groups claims.
        assert isinstance(own, type(general)) or code in {"not-the-holder"}, code


def test_unreachable_service_is_asked_again() -> None:
    pauses: list[float] = []
    # The socket keeps the port, and refuses connections because it does not listen.
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Recount(url, retry=Retry(attempts=3)) as client:
            client._transport._pause = pauses.append
            with pytest.raises(Unreachable, match="GET /v1/me"):
                client.me()
            assert len(pauses) == 2
            with pytest.raises(Unreachable):
                client.open_session("shop")
            assert len(pauses) == 4


def answering(response: httpx.Response) -> Recount:
    return Recount("http://127.0.0.1:1", transport=httpx.MockTransport(lambda _: response))


def test_response_of_another_service_is_unexpected() -> None:
    page = httpx.Response(200, text="<html>")
    with answering(page) as client, pytest.raises(UnexpectedResponse, match="expected JSON"):
        client.me()
    moved = httpx.Response(302, headers={"location": "https://x"})
    with answering(moved) as client, pytest.raises(UnexpectedResponse, match="302"):
        client.me()
    other = httpx.Response(200, json={"actor": 1})
    with answering(other) as client, pytest.raises(UnexpectedResponse, match="an object"):
        client.me()
    with answering(httpx.Response(404, text="no JSON")) as client, pytest.raises(NotFound):
        client.me()
    with answering(httpx.Response(500, text="")) as client, pytest.raises(ServiceFailed):
        client.me()


TOKEN = "rct_secret"


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1", "127.0.0.1:7878", "http://u:p@127.0.0.1", "http://127.0.0.1?t=1"]
)
def test_unfit_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        Recount(url, TOKEN)


def test_token_travels_in_clear_within_the_machine_alone() -> None:
    for kind in (Recount, AsyncRecount):
        with pytest.raises(ValueError, match="in clear") as refused:
            kind("http://recount.example", TOKEN)
        assert TOKEN not in str(refused.value)
        kind("https://recount.example", TOKEN)
        kind("http://recount.example", TOKEN, insecure=True)
        kind("http://localhost:7878/recount/", TOKEN)


def test_token_is_in_no_text() -> None:
    with pytest.raises(ValueError, match="no printable") as refused:
        Recount("http://127.0.0.1:1", f"{TOKEN}\n")
    client = Recount("http://127.0.0.1:1", TOKEN, retry=Retry.none())
    with pytest.raises(Unreachable) as lost:
        client.me()
    for text in (str(refused.value), repr(client), str(lost.value), repr(client.session("s"))):
        assert TOKEN not in text


def test_environment_names_service_and_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOUNT_URL", "http://127.0.0.1:1")
    for kind in (Recount, AsyncRecount):
        for missing in (None, ""):
            monkeypatch.delenv("RECOUNT_TOKEN", raising=False)
            if missing is not None:
                monkeypatch.setenv("RECOUNT_TOKEN", missing)
            with pytest.raises(ValueError, match="RECOUNT_TOKEN is not set"):
                kind.from_env()
        monkeypatch.setenv("RECOUNT_TOKEN", TOKEN)
        assert repr(kind.from_env()) == f"{kind.__name__}('http://127.0.0.1:1')"
        with pytest.raises(ValueError, match="empty"):
            kind("http://127.0.0.1:1", "")


def test_prefix_of_the_router_stays_in_the_path() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return httpx.Response(404, json={"code": "unknown-session", "status": 404})

    transport = httpx.MockTransport(answer)
    client = Recount("http://127.0.0.1:1/recount/", transport=transport)
    with client, pytest.raises(NotFound):
        client.session("../me").info()
    assert seen == ["http://127.0.0.1:1/recount/v1/sessions/..%2Fme"]


@pytest.mark.parametrize("key", ["", "x" * 201, "ü", "a\nb"])
def test_unfit_key_is_refused_before_it_is_sent(key: str) -> None:
    with Recount("http://127.0.0.1:1") as client, pytest.raises(ValueError, match="key"):
        client.session("s").start("pay", {}, key=key or "\t")


def test_numbers_that_json_lacks_are_refused() -> None:
    with Recount("http://127.0.0.1:1") as client, pytest.raises(ValueError, match="JSON"):
        client.session("s").start("pay", {"cents": float("nan")})


def test_no_module_is_long() -> None:
    sources = list(Path(__file__).parents[1].rglob("src/**/*.py"))
    assert sources
    for source in sources:
        assert len(source.read_text().splitlines()) <= 500, source
