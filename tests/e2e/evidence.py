"""The page of an evidence bundle, as a file in a browser and on paper.

The options are those of `pages.py`.

evidence.py PROGRAM --axe node_modules/axe-core/axe.min.js [--shots DIRECTORY]
"""

from __future__ import annotations

import pathlib
import subprocess
import tempfile
from typing import Any

from pages import DESK, PHONE, Given, chromium, given
from playwright.sync_api import Browser, Page

# The looks of the page: a name, the colours, the size of the window.
LOOKS: list[tuple[str, Any, Any]] = [
    ("light", "light", DESK),
    ("dark", "dark", DESK),
    ("phone", "light", PHONE),
]


def written(program: pathlib.Path, directory: pathlib.Path) -> pathlib.Path:
    """Writes a bundle about the journal of the demo. Returns its page."""
    journal, bundle = directory / "journal", directory / "bundle"
    for arguments in (
        ["demo", "--approve", "--journal", str(journal)],
        ["evidence", str(journal), "--disclose", "all", "--out", str(bundle)],
    ):
        subprocess.run([program, *arguments], check=True, capture_output=True, timeout=60)
    return bundle / "report.html"


def checked(page: Page, axe: str, look: str) -> list[str]:
    """Returns what is wrong with the page in the window of now."""
    found = page.evaluate(f"{axe}; axe.run(document)")
    wrong = [f"{look}: {it['id']}: {it['nodes'][0]['html']}" for it in found["violations"]]
    wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    return [*wrong, f"{look}: {wide} pixels too wide"] if wide > 0 else wrong


def looked_at(
    browser: Browser, file: pathlib.Path, arguments: Given, look: tuple[str, Any, Any]
) -> list[str]:
    """Opens the page in one look. Returns what is wrong."""
    name, scheme, size = look
    context = browser.new_context(color_scheme=scheme, viewport=size)
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(f"asked for {request.url}"))
    page.on("console", lambda message: said.append(message.text))
    page.goto(file.as_uri())
    assert page.get_by_text("Completeness is not shown.").is_visible()
    # The first request is for the page itself.
    wrong = [f"{name}: {it}" for it in (*asked[1:], *said)]
    wrong += checked(page, arguments.axe.read_text(), name)
    if arguments.shots is not None:
        page.screenshot(path=arguments.shots / f"evidence-{name}.png", full_page=True)
    context.close()
    return wrong


def printed(browser: Browser, file: pathlib.Path, arguments: Given) -> None:
    """Prints the page: black on white, with nothing beyond the edge of the paper."""
    context = browser.new_context(color_scheme="dark", viewport={"width": 700, "height": 990})
    page = context.new_page()
    page.goto(file.as_uri())
    page.emulate_media(media="print")
    colours = page.evaluate(
        "() => [getComputedStyle(document.body).color,"
        " getComputedStyle(document.body).backgroundColor]"
    )
    assert colours == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"], colours
    wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{wide} pixels are beyond the edge of the paper"
    paper = page.pdf(prefer_css_page_size=True)
    assert paper.count(b"/MediaBox") >= 1
    if arguments.shots is not None:
        (arguments.shots / "evidence.pdf").write_bytes(paper)
    context.close()


def main() -> None:
    """Looks at the page of one bundle."""
    arguments = given(__doc__)
    with tempfile.TemporaryDirectory() as directory, chromium(arguments) as browser:
        file = written(arguments.program.resolve(), pathlib.Path(directory))
        looks = [looked_at(browser, file, arguments, look) for look in LOOKS]
        printed(browser, file, arguments)
    wrong = [it for found in looks for it in found]
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    main()
