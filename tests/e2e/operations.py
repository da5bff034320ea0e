"""The pages of operators and of figures, in a browser.

The options are those of `pages.py`.

operations.py PROGRAM --axe node_modules/axe-core/axe.min.js [--shots DIRECTORY]
"""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pages import EVIL, PHONE, Given, Visits, chromium, given, played
from playwright.sync_api import Browser, Page, expect
from service import CONFIG, Connection, Service

# Tools beside those of the service: one whose approval may allow later calls, and one about whose
# interrupted calls a person is asked.
TOOLS = """\
[[agents.shop.client_tools]]
name = "mail"
description = "Sends a mail"
confirm = "Send this mail?"
may_allow_for_session = true
[[agents.shop.client_tools]]
name = "ship"
description = "Ships an order"
in_doubt = "ask"
"""

# The longest time until a change is on a page, in milliseconds. The page is fetched anew every two
# seconds at most.
LIVE_MS = 10_000


class World(Visits):
    """A service with open work, and a browser."""

    def __init__(self, service: Service, browser: Browser, arguments: Given) -> None:
        super().__init__(service, browser, arguments)
        self.operator = Connection(service, service.operator)
        self.client = Connection(service, service.client)
        self.admin = service.token("root", "admin")

    @contextmanager
    def opened(self, path: str, **more: Any) -> Iterator[Page]:
        """Opens a page in a browser of its own, as an admin."""
        with self.page(self.admin, path, **more) as page:
            yield page

    def call(self, session: str, tool: str, number: int) -> dict[str, Any]:
        """Makes a call that waits for an approver or for a client."""
        path = f"/v1/sessions/{session}/calls"
        body = {"tool": tool, "args": {"order": number}}
        status, told = self.operator.ask("POST", path, body, key=f"{tool}-{number}")
        assert status == 202, (status, told)
        return dict(told)

    def answer(self, call: dict[str, Any], answer: dict[str, Any]) -> None:
        """Answers the request of a call."""
        status, told = self.operator.ask("POST", f"/v1/requests/{call['request']}/answer", answer)
        assert status == 200, (status, told)

    def claim(self, tool: str, lease_ms: int) -> None:
        """Claims a call of a tool, in the name of a client."""
        body = {"claim": f"{tool}-claim", "tools": [tool], "lease_ms": lease_ms, "wait": 10}
        status, told = self.client.ask("POST", "/v1/claims", body)
        assert status == 200, (status, told)

    def fill(self) -> str:
        """Makes open work of every kind, and some decisions. Returns a session."""
        session = self.operator.open_session()
        other = self.operator.open_session()
        # The lease ends soon, so the outcome is in doubt.
        self.call(other, "ship", 1)
        self.claim("ship", 1000)
        for number in range(1, 8):
            call = self.call(session, "ask", number)
            if number <= 4:
                self.answer(call, {"confirmed": True})
            elif number == 5:
                self.answer(call, {"confirmed": False, "reason": EVIL})
        mail = self.call(session, "mail", 1)
        self.answer(mail, {"confirmed": True, "allow_for": {"count": 5}})
        self.call(session, "pay", 1)
        self.claim("pay", 600_000)
        self.call(session, "pack", 1)
        return session


def by_click(world: World) -> None:
    """A pause begins and ends by click. Another tab, which is live, shows both."""
    with world.opened("operations") as watching, world.opened("operations") as page:
        expect(watching.locator("#pauses")).to_contain_text("Nothing is paused.")
        page.locator("#pause-target").select_option("agent:shop")
        page.locator("#pause-reason").fill(EVIL)
        page.locator("section", has=page.locator("#pause-target")).get_by_role(
            "button", name="Pause"
        ).first.click()
        expect(page.locator("#pauses")).to_contain_text("Agent shop")
        shown = page.locator("#pauses").inner_text()
        assert "<script>" in shown, shown
        assert "\\u{202e}" in shown, shown
        assert "\u202e" not in shown, shown
        expect(watching.locator("#pauses")).to_contain_text("Agent shop", timeout=LIVE_MS)
        world.checked(page, "operations-paused")
        page.get_by_role("button", name="End the pause").click()
        expect(page.locator("#pauses")).to_contain_text("Nothing is paused.")
        expect(watching.locator("#pauses")).to_contain_text("Nothing is paused.", timeout=LIVE_MS)


def by_keyboard(world: World, session: str) -> None:
    """A pause of one session begins and ends with keys alone."""
    with world.opened("operations") as page:
        press(page, "summary", "Pause one session, or one tool in it", "Enter")
        press(page, "#pause-session", "", None)
        page.keyboard.type(session)
        page.keyboard.press("Tab")
        page.keyboard.type("ask")
        page.keyboard.press("Enter")
        expect(page.locator("#pauses")).to_contain_text("Tool ask of session")
        press(page, "#unpause-0", "End the pause", "Enter")
        expect(page.locator("#pauses")).to_contain_text("Nothing is paused.")


def press(page: Page, selector: str, text: str, key: str | None) -> None:
    """Goes on with Tab up to an element with this text, and presses a key there."""
    for _ in range(100):
        page.keyboard.press("Tab")
        is_there = page.evaluate(
            "([selector, text]) => {"
            "const it = document.activeElement;"
            "return it.matches(selector) && it.textContent.trim() === text; }",
            [selector, text],
        )
        if is_there:
            if key is not None:
                page.keyboard.press(key)
            return
    raise AssertionError(f"the keyboard does not reach {selector}")


def without_script(world: World) -> None:
    """The switch, the leaves and the figures work without a script, also on a phone."""
    with world.opened("operations", script=False, viewport=PHONE) as page:
        page.locator("#pause-target").select_option("everything")
        page.locator("#pause-reason").fill("the bank is down")
        page.get_by_role("button", name="Pause", exact=True).first.click()
        expect(page.locator("#pauses")).to_contain_text("the bank is down")
        page.get_by_role("button", name="End the pause").click()
        expect(page.locator("#pauses")).to_contain_text("Nothing is paused.")
        page.locator("#leaves summary").click()
        page.get_by_role("button", name="Revoke").click()
        expect(page.locator("#leaves")).to_contain_text("No standing leave is in force.")
        page.get_by_role("link", name="Figures").click()
        page.get_by_label("Range", exact=True).select_option("24h")
        page.get_by_label("Tool", exact=True).fill("mail")
        page.get_by_role("button", name="Show").click()
        expect(page.locator(".tally")).to_contain_text("1 asked")
        world.fits(page, "the figures without a script")


def looks(world: World) -> None:
    """Both pages have the numbers of the work that was made, and nothing that axe finds serious."""
    with world.opened("operations") as page:
        expect(page.locator("#doubts")).to_contain_text("ship", timeout=LIVE_MS)
        tally = " ".join(page.locator("#tally").inner_text().split())
        expected = "10 open calls 3 wait for an answer 1 in doubt 1 run by clients"
        assert tally.startswith(expected), tally
        page.locator("#doubts a").first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("ship")
        page.go_back()
        world.checked(page, "operations")
    with world.opened("figures") as page:
        expect(page.locator(".tally").first).to_contain_text("open now")
        cells = page.locator("section:has(#outcomes) tbody td").all_inner_texts()
        assert cells[:4] == ["5", "83.3 %", "1", "16.7 %"], cells
        expect(page.locator("svg[role=img]")).to_have_count(5)
        for details in page.locator("summary").all():
            details.click()
        world.checked(page, "figures")


def main() -> None:
    """Runs every scene against one service."""
    arguments = given(__doc__)
    with tempfile.TemporaryDirectory() as directory, chromium(arguments) as browser:
        service = Service(arguments.program.resolve(), pathlib.Path(directory))
        (service.directory / "recount.toml").write_text(CONFIG + TOOLS)
        service.start()
        try:
            world = World(service, browser, arguments)
            session = world.fill()
            scenes = [
                ("looks", lambda: looks(world)),
                ("by_click", lambda: by_click(world)),
                ("by_keyboard", lambda: by_keyboard(world, session)),
                ("without_script", lambda: without_script(world)),
            ]
            played(world, scenes, arguments.only)
        finally:
            service.kill()


if __name__ == "__main__":
    main()
