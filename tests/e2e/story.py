"""The pages of sessions and of the audit, in a browser.

The options are those of `pages.py`.

story.py PROGRAM --axe node_modules/axe-core/axe.min.js [--shots DIRECTORY]
"""

from __future__ import annotations

import contextlib
import pathlib
import re
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from pages import EVIL, PHONE, Given, Visits, chromium, given, played
from playwright.sync_api import Browser, Page, expect
from service import CONFIG, Connection, Service

MAIL = """\
[[agents.shop.client_tools]]
name = "mail"
description = "Sends a mail"
confirm = "Send this mail?"
may_allow_for_session = true
"""

# The number of calls of the long session: six events each.
LONG_CALLS = 334

# The longest time until a record is on a page, in milliseconds. A live page looks twice a second.
LIVE_MS = 5000


class Story(Visits):
    """A service with sessions, and a browser that is logged in."""

    def __init__(self, service: Service, browser: Browser, arguments: Given) -> None:
        super().__init__(service, browser, arguments)
        self.base = f"http://127.0.0.1:{service.port}"
        self.operator = Connection(service, service.operator)
        self.admin = service.token("root", "admin")

    @contextlib.contextmanager
    def opened(self, token: str | None = None, *, script: bool = True) -> Iterator[Page]:
        """Opens the list of sessions in a browser of its own, logged in with a token."""
        with self.page(token or self.admin, "sessions", script=script) as page:
            expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
            yield page

    def call(self, session: str, tool: str, args: object, number: int) -> dict[str, Any]:
        """Makes a call that waits for an approver or for a client."""
        body = {"tool": tool, "args": args}
        path = f"/v1/sessions/{session}/calls"
        status, told = self.operator.ask("POST", path, body, key=f"{tool}-{number}")
        assert status == 202, (status, told)
        return dict(told)


def live(story: Story) -> None:
    """A timeline grows while calls arrive, without a click. Pause and unpause, with the reason."""
    session = story.operator.open_session()
    story.call(session, "ask", {"order": EVIL}, 1)
    with story.opened() as page:
        page.goto(f"{story.base}/sessions/{session}")
        lanes = page.locator(".timeline-plot .lane")
        expect(lanes).to_have_count(1)
        marks = page.locator(".timeline-plot a.mark")
        before = marks.count()
        second = story.call(session, "ask", {"order": 2}, 2)
        expect(lanes).to_have_count(2, timeout=LIVE_MS)
        answer = {"confirmed": False, "reason": EVIL}
        path = f"/v1/requests/{second['request']}/answer"
        status, told = story.operator.ask("POST", path, answer)
        assert status == 200, (status, told)
        expect(page.locator("#timeline .outcome")).to_have_text(["denied"], timeout=LIVE_MS)
        assert marks.count() > before
        assert "evil" not in page.title()
        shown = page.locator("#rows").inner_text()
        assert "\\u{202e}" in shown, shown
        assert "\u202e" not in page.content()
        story.checked(page, "session")
        page.get_by_text("Pause this session").click()
        page.get_by_label("Reason").fill("the bank is down")
        page.get_by_role("button", name="Pause", exact=True).click()
        expect(page.locator(".banner.bad")).to_contain_text("the bank is down")
        status, pauses = story.operator.ask("GET", "/v1/pauses")
        assert [it["session"] for it in pauses["items"]] == [session], pauses
        story.checked(page, "paused")
        page.get_by_role("button", name="End the pause").click()
        expect(page.locator(".banner.bad")).to_have_count(0)
        status, pauses = story.operator.ask("GET", "/v1/pauses")
        assert pauses["items"] == [], pauses


def record(story: Story) -> None:
    """A mark of the timeline leads to its event, with its cause, its effects and the state."""
    session = story.operator.open_session()
    call = story.call(session, "ask", {"order": 7}, 3)
    with story.opened() as page:
        page.goto(f"{story.base}/sessions/{session}")
        page.locator(".timeline-plot a.mark").last.click()
        expect(page).to_have_url(re.compile(r"/records/\d+$"))
        page.goto(f"{story.base}/sessions/{session}/records/{call['call']}")
        expect(page.get_by_role("heading", name="State before and after")).to_be_visible()
        expect(page.locator("table.changes")).to_contain_text(f"/calls/{call['call']}")
        page.get_by_role("link", name="Record after").click()
        expect(page.locator("dl.facts").first).to_contain_text(f"record {call['call']}")
        story.checked(page, "record")
        page.goto(f"{story.base}/sessions/{session}?kind=confirmation_requested#events")
        expect(page.locator("table.events tbody tr")).to_have_count(1)


def leave(story: Story) -> None:
    """A standing leave is shown, and revoked with a click."""
    session = story.operator.open_session()
    asked = story.call(session, "mail", {"to": "ada"}, 4)
    answer = {"confirmed": True, "allow_for": {"count": 5}}
    path = f"/v1/requests/{asked['request']}/answer"
    status, told = story.operator.ask("POST", path, answer)
    assert status == 200, (status, told)
    with story.opened() as page:
        page.goto(f"{story.base}/sessions/{session}")
        card = page.locator(".card", has_text="for 5 further calls")
        expect(card).to_be_visible()
        card.get_by_role("button", name="Revoke").click()
        expect(card).to_have_count(0)
    status, leaves = story.operator.ask("GET", "/v1/leaves")
    assert leaves["items"] == [], leaves


def long(story: Story) -> None:
    """A session of 2,000 events: a bounded picture, pages of events, the phone, the time."""
    session = story.operator.open_session()
    for number in range(LONG_CALLS):
        made = story.call(session, "ask", {"n": number}, 1000 + number)
        path = f"/v1/sessions/{session}/calls/{made['call']}/cancel"
        status, told = story.operator.ask("POST", path, {})
        assert status == 200, (status, told)
    with story.opened() as page:
        begun = time.monotonic()
        page.goto(f"{story.base}/sessions/{session}")
        took = time.monotonic() - begun
        records = int(page.locator("dl.facts dd").last.inner_text())
        print(f"a session of {records} events is on the screen after {took * 1000:.0f} ms")
        assert page.locator(".timeline-plot .lane").count() == 60
        expect(page.locator("figcaption")).to_contain_text(f"{LONG_CALLS - 60} earlier calls")
        page.get_by_role("link", name="Earlier calls").click()
        expect(page.locator("figcaption")).to_contain_text(f"{LONG_CALLS - 120} earlier calls")
        page.get_by_role("link", name="Next page").click()
        expect(page.locator("table.events tbody tr")).to_have_count(50)
        page.goto(f"{story.base}/sessions/{session}")
        story.checked(page, "long")
        for place in (f"sessions/{session}", "sessions", "audit", f"sessions/{session}/records/9"):
            page.set_viewport_size(PHONE)
            page.goto(f"{story.base}/{place}")
            story.fits(page, place)


def lists(story: Story) -> None:
    """The lists of sessions and of decisions, with filters, and the exports."""
    session = story.operator.open_session()
    denied = story.call(session, "ask", {"order": 8}, 7)
    path = f"/v1/requests/{denied['request']}/answer"
    status, told = story.operator.ask("POST", path, {"confirmed": False, "reason": "too much"})
    assert status == 200, (status, told)
    with story.opened() as page:
        story.checked(page, "sessions")
        page.get_by_label("Text").fill("no such text")
        page.get_by_role("button", name="Filter").click()
        expect(page.get_by_text("No session is selected.")).to_be_visible()
        page.get_by_role("navigation").get_by_role("link", name="Audit").click()
        expect(page.locator("table.decisions")).to_be_visible()
        story.checked(page, "audit")
        page.get_by_label("Decision").select_option("denied")
        page.get_by_role("button", name="Filter").click()
        expect(page.locator("table.decisions")).to_contain_text("too much")
        expect(page.locator("table.decisions .badge.ask")).to_have_count(0)
        rows = page.locator("table.decisions tbody tr").count()
        with page.expect_download() as csv:
            page.get_by_role("link", name="CSV").click()
        lines = pathlib.Path(csv.value.path()).read_text().splitlines()
        assert len(lines) == rows + 1, lines
        for button in ("Verify all hashes", "Check all decisions"):
            page.get_by_role("button", name=button).click()
            expect(page.locator("#check-result")).to_contain_text("in ", timeout=60_000)
            expect(page.locator("#check-result.good")).to_be_visible()


def unscripted(story: Story) -> None:
    """Without a script, everything is read and done by links and forms. A viewer sees no switch."""
    session = story.operator.open_session()
    story.call(session, "ask", {"order": 9}, 5)
    with story.opened(script=False) as page:
        page.goto(f"{story.base}/sessions/{session}")
        page.get_by_role("button", name="Verify the hashes").click()
        expect(page.get_by_text("every hash of this session holds")).to_be_visible()
        page.get_by_role("link", name="Back to the session").click()
        page.get_by_role("button", name="Check the decisions").click()
        expect(page.get_by_text("The same decisions")).to_be_visible()
        page.goto(f"{story.base}/audit")
        page.get_by_role("button", name="Verify all hashes").click()
        expect(page.get_by_text("every hash holds")).to_be_visible()
    viewer = story.service.token("eve", "viewer")
    with story.opened(viewer) as page:
        page.goto(f"{story.base}/sessions/{session}")
        expect(page.get_by_text("Pause this session")).to_have_count(0)
        expect(page.get_by_role("button", name="Verify the hashes")).to_be_visible()


def verified(story: Story) -> None:
    """The progress of a check, in place. A start after a crash finds damage of the files."""
    session = story.operator.open_session()
    story.call(session, "ask", {"order": "bytes-to-alter"}, 6)
    with story.opened() as page:
        page.goto(f"{story.base}/sessions/{session}")
        page.get_by_role("button", name="Verify the hashes").click()
        expect(page.locator("#check-result.good")).to_contain_text("Consistent, not anchored")
        expect(page).to_have_url(re.compile(f"{session}$"))
        alter(story.service.directory, b"bytes-to-alter", b"altered-bytes!")
        # The service still reads the copy that it has: the page says what was checked.
        with story.opened(script=False) as plain:
            plain.goto(f"{story.base}/sessions/{session}")
            plain.get_by_role("button", name="Verify the hashes").click()
            expect(plain.get_by_text("the records that the service reads")).to_be_visible()
    story.service.kill()
    done = story.service.run("verify", "journal")
    assert done.returncode == 4, done.stdout + done.stderr
    done = story.service.run("serve", "--listen", "127.0.0.1:0")
    assert done.returncode == 4, done.stdout + done.stderr


def alter(directory: pathlib.Path, old: bytes, new: bytes) -> None:
    """Alters the bytes of a record in the log, in every place."""
    altered = 0
    for file in (directory / "journal" / "log").iterdir():
        content = file.read_bytes()
        if old in content:
            file.write_bytes(content.replace(old, new))
            altered += 1
    assert altered, "no file of the log has the bytes"


def main() -> None:
    """Runs the checks in a browser."""
    arguments = given(__doc__)
    checks = [live, record, leave, long, lists, unscripted, verified]
    with started(arguments.program) as service, chromium(arguments) as browser:
        story = Story(service, browser, arguments)
        scenes = [(check.__name__, partial(check, story)) for check in checks]
        played(story, scenes, arguments.only)


@contextlib.contextmanager
def started(program: pathlib.Path) -> Iterator[Service]:
    """Serves an empty journal. The last check damages it, so its end is not checked."""
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        service = Service(program.resolve(), place)
        (place / "recount.toml").write_text(CONFIG + MAIL)
        service.start()
        try:
            yield service
        finally:
            service.kill()


if __name__ == "__main__":
    main()
