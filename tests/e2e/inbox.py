"""The inbox and the card in a real browser: every answer that a person can give.

The options are those of `pages.py`.

    inbox.py PROGRAM --axe node_modules/axe-core/axe.min.js [--chromium PATH] [--shots DIRECTORY]
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from pages import EVIL, PATIENCE_MS, Given, Visits, chromium, given, played
from playwright.sync_api import Browser, Page, expect
from service import Connection, Service, serving

TOOLS = """\
[[tool]]
name = "refund"
description = "Refunds an order to the customer"
command = ["sh", "-c", "cat >/dev/null; echo '{\\"receipt\\": 17}'"]
confirm = "Refund this order?"
confirm_edits = "allowed"
confirm_expires_after = "2h"
may_allow_for_session = true
in_doubt = "ask"

[tool.parameters]
type = "object"
required = ["cents"]

[tool.parameters.properties.cents]
type = "integer"
maximum = 10000
description = "The amount, in cents"

[tool.parameters.properties.order]
type = "string"
description = "The id of the order"

[[tool]]
name = "pay_supplier"
description = "Pays an invoice"
command = ["sh", "-c", "cat >/dev/null; echo '{\\"paid\\": true}'"]
confirm = "Pay this invoice?"
approvers = { roles = ["finance"] }
quorum = 2
parameters = { type = "object", properties = { invoice = { type = "string" } } }

[[tool]]
name = "ship"
description = "Has the warehouse ship the order; the warehouse reports later"
command = ["true"]
long_running = true

[[tool]]
name = "wire"
description = "Wires money, slowly"
command = ["sleep", "60"]
confirm = "Wire it?"
in_doubt = "ask"

[[tool]]
name = "print"
description = "Prints a letter, slowly"
command = ["sleep", "60"]
confirm = "Print it?"

[[tool]]
name = "fail"
description = "Fails"
command = ["sh", "-c", "echo 'the bank is closed' >&2; exit 1"]
confirm = "Try it?"
"""

FILES = {
    "recount.toml": 'journal = "journal"\n[agents.shop]\ntools = ["tools.toml"]\n',
    "tools.toml": TOOLS,
}


class Stage(Visits):
    """The service, the browser, and the people who use it."""

    def __init__(
        self, service: Service, browser: Browser, arguments: Given, tokens: dict[str, str]
    ) -> None:
        super().__init__(service, browser, arguments)
        self.tokens = tokens
        self.session = ""
        self.calls = 0

    def opened(self, **about: object) -> str:
        """Opens another session, in which the next calls are made."""
        client = Connection(self.service, self.tokens["program"])
        body = {"agent": "shop", **about}
        status, told = client.ask("POST", "/v1/sessions", body)
        assert status == 201, (status, told)
        self.session = str(told["session"])
        return self.session

    def call(self, tool: str, args: object) -> str:
        """Makes a call that waits, and returns the path of its card."""
        self.calls += 1
        client = Connection(self.service, self.tokens["program"])
        body = {"tool": tool, "args": args}
        path = f"/v1/sessions/{self.session}/calls"
        status, told = client.ask("POST", path, body, key=f"call-{self.calls}")
        assert status == 202, (status, told)
        return f"/sessions/{self.session}/calls/{told['call']}"

    @contextmanager
    def person(self, name: str, *, script: bool = True) -> Iterator[Page]:
        """A browser of its own, in which the person is logged in."""
        with self.page(self.tokens[name], "inbox", script=script) as page:
            expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
            yield page


def open_details(page: Page, name: str) -> None:
    """Opens a part of the page that is folded up."""
    page.locator("summary").filter(has_text=name).click()


def approval_runs_and_the_card_follows(stage: Stage) -> None:
    """An approval runs the call. The card shows the outcome by itself, the inbox is empty."""
    with stage.person("ada") as page:
        expect(page.get_by_text("No call waits for an answer.")).to_be_visible()
        stage.checked(page, "inbox-empty")
        stage.opened(external_id="ticket-7", labels={"tenant": "acme"}, on_behalf_of="Carol")
        card = stage.call("refund", {"cents": 4200, "order": "A-17"})
        # The inbox has not been loaded again: it is live.
        expect(page.get_by_text("Refund this order?")).to_be_visible()
        expect(page).to_have_title("(1) Inbox · Recount")
        stage.checked(page, "inbox")
        page.get_by_role("link", name="refund: Refund this order?").click()
        expect(page).to_have_url(re.compile(re.escape(card)))
        stage.checked(page, "card-open")
        page.get_by_role("button", name="Approve", exact=True).click()
        expect(page.get_by_role("heading", name="Ran, receipt 17")).to_be_visible()
        stage.checked(page, "card-ran")


def two_browsers_race(stage: Stage) -> None:
    """One of two people decides. The other one learns who it was, without loading the page."""
    card = stage.call("refund", {"cents": 1})
    with stage.person("ada") as ada, stage.person("bob") as bob:
        # Bob's page must not learn of it before he has decided.
        bob.route("**/live*", lambda route: route.abort())
        ada.goto(card)
        bob.goto(card)
        ada.get_by_role("button", name="Approve", exact=True).click()
        expect(ada.get_by_role("heading", name="Ran, receipt 17")).to_be_visible()
        open_details(bob, "Deny …")
        bob.locator("#reason").fill("too late")
        bob.locator("#deny").click()
        expect(bob.get_by_role("alert")).to_contain_text("Your answer does not count")
        expect(bob.locator("#status")).to_contain_text("by ada")
        expect(bob.locator("#deny")).to_have_count(0)
        stage.checked(bob, "card-too-late")
    card = stage.call("refund", {"cents": 2})
    with stage.person("ada") as ada, stage.person("bob") as bob:
        ada.goto(card)
        bob.goto(card)
        ada.get_by_role("button", name="Approve", exact=True).click()
        expect(bob.locator("#status")).to_contain_text("by ada")
        expect(bob.locator("#approve")).to_have_count(0)


def denial_with_a_reason(stage: Stage) -> None:
    """A denial has its reason, and the history finds it."""
    card = stage.call("refund", {"cents": 99})
    with stage.person("bob") as page:
        page.goto(card)
        open_details(page, "Deny …")
        page.locator("#reason").fill(f"not this one {EVIL}")
        page.locator("#deny").click()
        expect(page.get_by_role("heading", name="Denied: it did not run")).to_be_visible()
        expect(page.locator("#status")).to_contain_text("not this one <script>")
        expect(page.locator("#status .unseen").first).to_be_visible()
        page.goto("/history?q=not+this+one")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody tr")).to_contain_text("by bob")
        stage.checked(page, "history")


def edit_with_a_schema_error(stage: Stage) -> None:
    """A fault is shown at its field, with nothing lost, and the difference before it is sent."""
    card = stage.call("refund", {"cents": 5000, "order": "A-18"})
    with stage.person("ada") as page:
        page.goto(card)
        page.get_by_role("link", name="Change the arguments").click()
        page.get_by_label("cents").fill("10001")
        page.get_by_label("order").fill("A-19")
        page.get_by_role("button", name="Show the difference").click()
        fault = page.locator(".wrong .fault")
        expect(fault).to_contain_text("10000")
        expect(page.get_by_label("cents")).to_have_value("10001")
        expect(page.get_by_label("order")).to_have_value("A-19")
        stage.checked(page, "edit-fault")
        page.get_by_label("cents").fill("4999")
        page.get_by_role("button", name="Show the difference").click()
        expect(page.locator("del").first).to_have_text("5000")
        expect(page.locator("ins").first).to_have_text("4999")
        stage.checked(page, "difference")
        page.get_by_role("button", name="Approve with these arguments").click()
        expect(page.get_by_role("heading", name="Ran, receipt 17")).to_be_visible()
        expect(page.locator("#arguments")).to_contain_text("4999")


def quorum_of_two(stage: Stage) -> None:
    """Two people of finance approve. The card says who has, and who may."""
    card = stage.call("pay_supplier", {"invoice": "2026-11"})
    with stage.person("ada") as ada, stage.person("finn") as finn, stage.person("fran") as fran:
        ada.goto(card)
        expect(ada.get_by_text("You may not say yes to this call")).to_be_visible()
        expect(ada.locator("#approve")).to_have_count(0)
        finn.goto(card)
        fran.goto(card)
        expect(finn.locator("#facts")).to_contain_text("0 of 2 approvals")
        finn.get_by_role("button", name="Approve", exact=True).click()
        expect(finn.locator("#status")).to_contain_text("You approved")
        stage.checked(finn, "card-half")
        expect(fran.locator("#status")).to_contain_text("finn approved")
        expect(fran.locator("#facts")).to_contain_text("1 of 2 approvals")
        expect(fran.locator("#facts")).to_contain_text("by finn")
        stage.checked(fran, "card-quorum")
        fran.get_by_role("button", name="Approve", exact=True).click()
        expect(finn.get_by_role("heading", name="Ran, paid true")).to_be_visible()


def leave_for_the_session(stage: Stage) -> None:
    """An approval allows later calls, until it is revoked."""
    card = stage.call("refund", {"cents": 3})
    with stage.person("ada") as page:
        page.goto(card)
        open_details(page, "Approve, and allow later calls")
        page.get_by_label("Number of further calls").fill("2")
        stage.checked(page, "card-allow")
        page.get_by_role("button", name="Approve, and allow these").click()
        expect(page.locator("#status")).to_contain_text("for 2 further calls")
        client = Connection(stage.service, stage.tokens["program"])
        path = f"/v1/sessions/{stage.session}/calls"
        body = {"tool": "refund", "args": {"cents": 4}}
        status, told = client.ask("POST", path, body, key="allowed")
        assert status in (200, 202) and "request" not in told, (status, told)
        expect(page.locator("#status")).to_contain_text("used by 1 call so far")
        page.locator("#revoke").click()
        expect(page.locator("#status")).to_contain_text("revoked")
        stage.call("refund", {"cents": 6})


def without_script(stage: Stage) -> None:
    """Reading and deciding need no script, with the origin that the browser then names."""
    card = stage.call("refund", {"cents": 8})
    with stage.person("ada", script=False) as page:
        page.goto("/inbox?tool=refund")
        expect(page.get_by_role("link", name="refund: Refund this order?").first).to_be_visible()
        page.goto(card)
        page.get_by_role("button", name="Approve", exact=True).click()
        page.goto(card)
        expect(page.locator("#status")).to_contain_text("by ada")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def keyboard_alone(stage: Stage) -> None:
    """A person decides with the keyboard alone."""
    stage.opened(labels={"tenant": "keyboard"})
    stage.call("refund", {"cents": 9})
    with stage.person("ada") as page:
        page.goto("/inbox?label=tenant:keyboard")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Refund this order?")).to_be_visible()
        page.keyboard.press("a")
        expect(page.locator("#approve")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Ran, receipt 17")).to_be_visible()
        stage.call("refund", {"cents": 10})
        page.goto("/inbox?label=tenant:keyboard")
        link = page.get_by_role("link", name="refund: Refund this order?")
        for _ in range(30):
            page.keyboard.press("Tab")
            if link.evaluate("it => it === document.activeElement"):
                break
        expect(link).to_be_focused()
        page.keyboard.press("Enter")
        # A key before the page is there would be one of the page before.
        expect(page.get_by_role("heading", name="Refund this order?")).to_be_visible()
        page.keyboard.press("d")
        expect(page.get_by_label("Reason")).to_be_focused()
        page.keyboard.type("by keyboard")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Denied: it did not run")).to_be_visible()


def a_whole_session_is_denied(stage: Stage) -> None:
    """Everything that waits in a session is denied at once."""
    stage.opened(labels={"tenant": "many"})
    for cents in range(3):
        stage.call("refund", {"cents": cents})
    with stage.person("ada") as page:
        page.goto("/inbox?label=tenant:many")
        open_details(page, "Deny all")
        page.get_by_label("Reason").fill("a mistake")
        stage.checked(page, "inbox-many")
        page.get_by_role("button", name="Deny these 3 calls").click()
        expect(page.get_by_text("3 calls were denied.")).to_be_visible()
        page.goto("/inbox?label=tenant:many")
        expect(page.get_by_text("No call waits that fits the filters.")).to_be_visible()


def typing_holds_back_its_own_session_alone(stage: Stage) -> None:
    """A new call of another session comes while a reason is typed. A notice tells of the own."""
    typed = stage.opened(labels={"tenant": "typing"})
    for cents in (71, 72):
        stage.call("refund", {"cents": cents})
    other = stage.opened(labels={"tenant": "typing"})
    stage.call("refund", {"cents": 73})
    with stage.person("ada") as page:
        page.goto("/inbox?label=tenant:typing")
        rows = [page.locator(f"#in-{it} .row") for it in (typed, other)]
        expect(rows[0]).to_have_count(2)
        page.locator(f"#deny-{typed} summary").click()
        reason = page.locator(f"#reason-{typed}")
        reason.fill("x")
        stage.call("refund", {"cents": 74})
        expect(rows[1]).to_have_count(2)
        expect(page.locator("#notice")).to_be_empty()
        expect(reason).to_have_value("x")
        stage.session = typed
        stage.call("refund", {"cents": 75})
        expect(page.locator("#notice")).to_contain_text("has changed")
        expect(reason).to_have_value("x")
        expect(rows[0]).to_have_count(2)
        reason.fill("")
        stage.call("refund", {"cents": 76})
        expect(rows[0]).to_have_count(4)
        expect(page.locator("#notice")).to_be_empty()
        page.goto("/inbox?label=typing")
        expect(page.get_by_label("Label")).to_have_attribute("aria-invalid", "true")
        stage.checked(page, "inbox-misread")


def logout_is_told_in_other_tabs(stage: Stage) -> None:
    """A logout in one tab is told in another one of the same login, at once."""
    with stage.person("ada") as page:
        other = page.context.new_page()
        other.goto("/inbox")
        other.get_by_role("button", name="Log out").click()
        expect(page.locator("#notice")).to_contain_text("You are logged out", timeout=4_000)


def result_from_outside(stage: Stage) -> None:
    """An operator supplies the result of a call that waits for it."""
    card = stage.call("ship", {})
    with stage.person("root") as page:
        page.goto(card)
        stage.checked(page, "card-paused")
        page.get_by_label("Result").fill('{"tracking": "RC-1"}')
        page.get_by_role("button", name="Supply the result").click()
        expect(page.get_by_role("heading", name="The result came from outside")).to_be_visible()
    card = stage.call("fail", {})
    with stage.person("ada") as page:
        page.goto(card)
        page.get_by_role("button", name="Approve", exact=True).click()
        expect(page.get_by_role("heading", name="Ran and failed")).to_be_visible()
        stage.checked(page, "card-failed")


def calls_in_doubt(stage: Stage) -> None:
    """The service is killed while two tools run. People record what happened to each call."""
    stage.opened(labels={"tenant": "doubt"})
    asks, settles = stage.call("wire", {"cents": 1}), stage.call("print", {"pages": 2})
    with stage.person("ada") as page:
        for card in (asks, settles):
            page.goto(card)
            page.get_by_role("button", name="Approve", exact=True).click()
            expect(page.locator("#status h2").first).to_have_text("Running")
        stage.service.kill()
        stage.service.start()
        # A login lives in the process, so the card leads to the login page and back.
        page.goto(asks)
        page.get_by_label("Token").fill(stage.tokens["ada"])
        page.get_by_role("button", name="Log in").click()
        expect(page).to_have_url(re.compile(re.escape(asks)))
        expect(page.locator("#status")).to_contain_text("it may have run, or not")
        expect(page.get_by_role("button", name="Run it again")).to_be_visible()
        open_details(page, "I know that it did not run")
        open_details(page, "I know that it ran")
        stage.checked(page, "card-in-doubt")
        page.get_by_label("Result (a JSON object)").fill('{"receipt": 18}')
        page.get_by_role("button", name="It ran: this is its result").click()
        expect(page.locator("#status")).to_contain_text("settled as done")
    with stage.person("root") as page:
        page.goto(settles)
        expect(page.locator("#status h2").first).to_contain_text("In doubt")
        open_details(page, "It did not run")
        page.get_by_label("Why it did not run").fill("the printer was off")
        stage.checked(page, "card-unknown")
        page.get_by_role("button", name="It did not run").click()
        expect(page.locator("#status")).to_contain_text("the printer was off")
        expect(page.locator("#answers button")).to_have_count(0)


def demo_in_the_browser(stage: Stage) -> None:
    """`recount demo --ui` needs one command, one link and one click."""
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            [stage.service.program, "demo", "--ui"],
            cwd=directory,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, "")
            link = next(it.strip() for it in lines if it.strip().startswith("http://"))
            page = stage.browser.new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.goto(link)
            page.get_by_role("link", name="refund: Refund money to the customer?").click()
            page.get_by_role("button", name="Approve", exact=True).click()
            expect(page.get_by_role("heading", name="Ran, refunded_cents 4200")).to_be_visible()
            page.close()
            process.terminate()
            # The pipe must not fill up before the end.
            process.stdout.read()
            code = process.wait(timeout=PATIENCE_MS / 1000)
            assert code == 0, f"the demo ended with {code}"
        finally:
            process.kill()
            process.wait()


def text_without_effect(stage: Stage) -> None:
    """What a model, a tool or a person filled in is shown, and does nothing."""
    stage.opened(external_id=EVIL, on_behalf_of=EVIL, labels={"tenant": EVIL})
    card = stage.call("refund", {"cents": 1, "order": EVIL, EVIL: [EVIL]})
    with stage.person("eve") as page:
        for path in ("/inbox", card):
            page.goto(path)
            expect(page.get_by_text("<script>document.title").first).to_be_visible()
            expect(page.locator(".unseen").first).to_be_visible()
            assert "evil" not in page.title(), page.title()
        assert page.locator("#answers button").count() == 0, "a viewer has a button"
        stage.checked(page, "card-hostile")


STORIES: list[Callable[[Stage], None]] = [
    approval_runs_and_the_card_follows,
    two_browsers_race,
    denial_with_a_reason,
    edit_with_a_schema_error,
    quorum_of_two,
    leave_for_the_session,
    without_script,
    keyboard_alone,
    a_whole_session_is_denied,
    typing_holds_back_its_own_session_alone,
    logout_is_told_in_other_tabs,
    result_from_outside,
    text_without_effect,
    calls_in_doubt,
    demo_in_the_browser,
]


def main() -> None:
    """Runs every story, and fails with all that was found."""
    arguments = given(__doc__)
    with serving(arguments.program, FILES) as service, chromium(arguments) as browser:
        finance = ("--approver-role", "finance")
        tokens = {
            "ada": service.token("ada", "approver"),
            "bob": service.token("bob", "approver"),
            "finn": service.token("finn", "approver", *finance),
            "fran": service.token("fran", "approver", *finance),
            "eve": service.token("eve", "viewer"),
            "root": service.token("root", "operator"),
            "program": service.token("pipeline", "client"),
        }
        stage = Stage(service, browser, arguments, tokens)
        stage.opened()
        scenes = [(story.__name__, partial(story, stage)) for story in STORIES]
        played(stage, scenes, arguments.only)


if __name__ == "__main__":
    main()
