"""The quick start of the README and the examples as programs, with the program `recount`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from conftest import PATIENCE_S, program
from recount_client import Confirmation, Recount

PROJECT = Path(__file__).resolve().parents[1]


def blocks(language: str) -> list[str]:
    """Returns the code of a language in the steps of the README, in order."""
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    found = re.findall(rf"^   ```{language}\n(.*?)^   ```$", text, re.MULTILINE | re.DOTALL)
    return [re.sub(r"^   ", "", block, flags=re.MULTILINE) for block in found]


class QuickStart:
    """The service, the tokens and the programs of the quick start, in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._recount = program("RECOUNT_PROGRAM", "debug", "recount")
        [configuration] = blocks("toml")
        (directory / "recount.toml").write_text(configuration)
        shop, approve = blocks("python")
        (directory / "shop.py").write_text(shop)
        (directory / "approve.py").write_text(approve)
        created = re.findall(r"recount token create ([\w-]+) --role (\w+)", "".join(blocks("sh")))
        self.tokens = {name: self._token(name, role) for name, role in created}
        self._service = subprocess.Popen(
            [self._recount, "serve", "--json", "--listen", "127.0.0.1:0"],
            cwd=directory,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._service.stdout is not None
        self.url = cast("str", json.loads(self._service.stdout.readline())["url"])

    def _token(self, name: str, role: str) -> str:
        command: list[str | Path] = [
            self._recount,
            "token",
            "create",
            name,
            "--role",
            role,
            "--json",
        ]
        done = subprocess.run(command, cwd=self.directory, capture_output=True, check=True)
        return cast("str", json.loads(done.stdout)["token"])

    def start(self, token: str, *command: str | Path) -> subprocess.Popen[str]:
        environment = {"RECOUNT_URL": self.url, "RECOUNT_TOKEN": self.tokens[token]}
        return subprocess.Popen(
            command,
            cwd=self.directory,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, token: str, *command: str | Path, said: str = "") -> str:
        process = self.start(token, *command)
        told, _ = process.communicate(said, timeout=PATIENCE_S)
        assert process.returncode == 0
        return told

    def wait_for_request(self) -> Confirmation:
        with Recount(self.url, self.tokens["ada"]) as client:
            for waiting in client.watch_pending():
                for found in waiting:
                    assert isinstance(found, Confirmation)
                    return found
        raise AssertionError

    def log(self, session: str) -> str:
        return self.run("ada", self._recount, "log", "recount-journal", session)

    def end(self) -> None:
        self._service.terminate()
        self._service.communicate(timeout=PATIENCE_S)


@pytest.fixture
def quick_start(tmp_path: Path) -> Iterator[QuickStart]:
    made = QuickStart(tmp_path)
    yield made
    made.end()


def test_quick_start_works_as_written(quick_start: QuickStart) -> None:
    shop = (sys.executable, "shop.py")
    killed = quick_start.start("shop-agent", *shop)
    first = quick_start.wait_for_request()
    killed.kill()
    killed.communicate()
    restarted = quick_start.start("shop-agent", *shop)
    assert quick_start.wait_for_request() == first
    assert quick_start.run("ada", sys.executable, "approve.py") == "refund {'order': 17}\n"
    told, _ = restarted.communicate(timeout=PATIENCE_S)
    assert told.startswith("{'refunded': 17")
    assert quick_start.run("shop-agent", *shop) == told
    session = (quick_start.directory / "case-17.session").read_text()
    assert first.session == session
    assert quick_start.log(session).count("refund started") == 1


def test_answer_with_curl(quick_start: QuickStart) -> None:
    shop = quick_start.start("shop-agent", sys.executable, "shop.py")
    request = quick_start.wait_for_request()
    [commands] = [block for block in blocks("sh") if "curl" in block]
    told = quick_start.run("ada", "sh", "-ec", commands.replace("REQUEST", request.request))
    assert request.request in told
    told, _ = shop.communicate(timeout=PATIENCE_S)
    assert told.startswith("{'refunded': 17")


# The names that a snippet of a page or a description takes from its surroundings.
SURROUNDINGS = """
import signal
from collections.abc import Callable
from typing import Any
from recount_client import *
url: str; token: str; kept_id: str; request_id: str; request: Confirmation; waiting: Confirmation
requests: list[Confirmation]
save: Callable[[str], None]
bank: Any
"""


def snippets() -> Iterator[tuple[str, str]]:
    """Returns the snippets outside of the quick start, each with the place where it stands."""
    pages = [PROJECT / "README.md", *sorted((PROJECT / "src").rglob("*.py"))]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        found = re.finditer(r"^( {0}| {4}| {8})```python\n(.*?)^\1```$", text, re.M | re.S)
        for snippet in found:
            line = text[: snippet.start()].count("\n") + 1
            yield f"{page.stem}_{line}", textwrap.dedent(snippet[2])


def within_a_function(name: str, snippet: str) -> str:
    """Returns a module with a snippet in a function, where it may use `await`."""
    is_async = "await " in snippet or "async " in snippet or name.startswith("async_")
    kind, prefix = ("async def", "Async") if is_async else ("def", "")
    arguments = f"client: {prefix}Recount, session: {prefix}Session"
    body = textwrap.indent(snippet, "    ")
    return f"{SURROUNDINGS}\n{kind} snippet({arguments}) -> None:\n{body}"


def test_snippets_are_typed(tmp_path: Path) -> None:
    for number, snippet in enumerate(blocks("python")):
        (tmp_path / f"quick_start_{number}.py").write_text(snippet)
    found = dict(snippets())
    assert len(found) > 20
    for name, snippet in found.items():
        (tmp_path / f"{name}.py").write_text(within_a_function(name, snippet))
    command: list[str | Path] = [sys.executable, "-m", "mypy", "--strict", tmp_path]
    environment = {**os.environ, "MYPYPATH": str(PROJECT / "src")}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("example", ["plain_loop", "langgraph_node", "openai_agents_tool"])
def test_killed_example_joins_its_call(quick_start: QuickStart, example: str) -> None:
    command = (sys.executable, PROJECT / "examples" / f"{example}.py")
    killed = quick_start.start("shop-agent", *command)
    first = quick_start.wait_for_request()
    killed.kill()
    killed.communicate()
    restarted = quick_start.start("shop-agent", *command)
    approve = (sys.executable, PROJECT / "examples" / "approve.py")
    asked = quick_start.run("ada", *approve, said="y\n")
    assert asked.startswith("refund {'order': 17}: Refund this order?\nApprove? [y/N] ")
    told, _ = restarted.communicate(timeout=PATIENCE_S)
    assert told == "Order 17 has its money back.\n"
    assert first.session == (quick_start.directory / f"{example}.session").read_text()
    assert quick_start.log(first.session).count("refund started") == 1
