"""The browser, login, axe-core checks and pictures that the scripts of the pages share.

Each needs Playwright for Python and a Chromium; `--axe` names `axe.min.js` of `axe-core`. With
`--shots` it keeps a picture of each page: light, dark and on a phone.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, sync_playwright
from service import Service

PHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1280, "height": 900}

# A name, an argument or a reason that a page must show without effect: `checked` looks at the
# title.
EVIL = "<script>document.title='evil'</script>\u202ereverse\u200b\u001b[31m"

# A page that shows nothing for this time is a failure, in milliseconds.
PATIENCE_MS = 10_000


class Given(argparse.Namespace):
    """The command line of a script."""

    program: pathlib.Path
    axe: pathlib.Path
    chromium: str
    shots: pathlib.Path | None
    only: str


def given(description: str | None) -> Given:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--axe", type=pathlib.Path, required=True)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--shots", type=pathlib.Path)
    parser.add_argument("--only", default="", help="a part of the names of the scenes to run")
    found = parser.parse_args(namespace=Given())
    if found.shots is not None:
        found.shots.mkdir(parents=True, exist_ok=True)
    return found


@contextlib.contextmanager
def chromium(arguments: Given) -> Iterator[Browser]:
    """Starts a browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=arguments.chromium, args=["--no-sandbox"]
        )
        try:
            yield browser
        finally:
            browser.close()


class Visits:
    """The pages of a service in a browser, and what was found to be wrong with them."""

    def __init__(self, service: Service, browser: Browser, arguments: Given) -> None:
        self.service, self.browser = service, browser
        self.axe, self.shots = arguments.axe.read_text(), arguments.shots
        self.findings: list[str] = []

    @contextlib.contextmanager
    def page(
        self, token: str, path: str, *, script: bool = True, viewport: ViewportSize = DESK
    ) -> Iterator[Page]:
        """Opens a page in a browser of its own, logged in with a token."""
        context = self.browser.new_context(
            base_url=f"http://127.0.0.1:{self.service.port}",
            viewport=viewport,
            java_script_enabled=script,
        )
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.on("pageerror", lambda error: self.findings.append(f"script: {error}"))
        page.on("console", self.heard)
        try:
            page.goto(f"/login?next={path}")
            page.get_by_label("Token").fill(token)
            page.get_by_role("button", name="Log in").click()
            page.wait_for_url(f"**/{path}")
            yield page
            assert "evil" not in page.title(), page.title()
        finally:
            context.close()

    def heard(self, message: ConsoleMessage) -> None:
        """Notes what the content security policy refused."""
        if "Content Security" in message.text:
            self.findings.append(message.text)

    def checked(self, page: Page, name: str) -> None:
        """Checks a page with axe-core, light, dark and on a phone, and takes its pictures."""
        looks: list[tuple[str, Literal["light", "dark"], ViewportSize]] = [
            ("light", "light", DESK),
            ("dark", "dark", DESK),
            ("phone", "light", PHONE),
        ]
        for look, scheme, size in looks:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size(size)
            # The policy of the page admits no script of others, so the check runs outside of it.
            found = page.evaluate(f"{self.axe}; axe.run(document)")
            for it in found["violations"]:
                if it["impact"] in ("serious", "critical"):
                    places = [node["html"] for node in it["nodes"]][:3]
                    self.findings.append(f"{name}, {look}: {it['id']}: {places}")
            self.fits(page, f"{name}, {look}")
            if self.shots is not None:
                page.screenshot(path=self.shots / f"{name}-{look}.png", full_page=True)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(DESK)

    def fits(self, page: Page, name: str) -> None:
        """The page is no wider than the screen: only its tables and pictures scroll."""
        wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        if wide > 0:
            self.findings.append(f"{name}: {wide} pixels too wide")


def played(visits: Visits, scenes: Sequence[tuple[str, Callable[[], None]]], only: str) -> None:
    """Runs the scenes whose names have the text, and fails with all that was found."""
    for name, scene in scenes:
        if only in name:
            begun = time.monotonic()
            scene()
            print(f"{name}: {time.monotonic() - begun:.1f} s", flush=True)
    assert not visits.findings, "\n".join(visits.findings)
