"""The service of the tests: the real one, with a clock that only a test moves."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import pytest

from recount_client import Recount, Retry, Session

ROOT = Path(__file__).resolve().parents[3]

# An expired wait is an error of the test, so it is long.
PATIENCE_S = 60


def program(variable: str, *below_target: str) -> Path:
    """Returns a built program. A missing one fails the tests: none is skipped."""
    named = os.environ.get(variable)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    path = Path(named) if named else target.joinpath(*below_target)
    if not path.is_file():
        pytest.fail(f"{path} is not built; {variable} can name it", pytrace=False)
    return path


class Bench:
    """A running service over a journal on disk, which outlives a kill."""

    def __init__(self, directory: Path) -> None:
        self._program = program("RECOUNT_CLIENT_BENCH", "debug", "examples", "client_bench")
        self._directory = directory
        self._process: subprocess.Popen[str] | None = None
        self._address = "127.0.0.1:0"
        self.url = ""
        self.tokens: dict[str, str] = {}
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [self._program, self._directory, self._address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        ready = self._read()
        self.url = ready["url"]
        self._address = self.url.removeprefix("http://")
        self.tokens.update(ready["tokens"])

    def kill(self) -> None:
        """Kills the service, as a machine that loses its power does."""
        process = self._running()
        process.kill()
        self._reap(process)

    def stop(self) -> None:
        """Lets the service shut down."""
        process = self._running()
        self._pipe(process.stdin).close()
        process.wait(PATIENCE_S)
        self._reap(process)

    def advance(self, seconds: float) -> None:
        """Moves the clock of the service."""
        self._command({"advance_ms": int(seconds * 1000)})

    def drain(self) -> None:
        self._command({"drain": True})

    def token(self, role: str) -> str:
        return self.tokens[role]

    def _command(self, command: dict[str, Any]) -> None:
        pipe = self._pipe(self._running().stdin)
        pipe.write(json.dumps(command) + "\n")
        pipe.flush()
        self._read()

    def _read(self) -> dict[str, Any]:
        line = self._pipe(self._running().stdout).readline()
        if not line:
            pytest.fail(f"the service ended with {self._running().wait(PATIENCE_S)}")
        return cast("dict[str, Any]", json.loads(line))

    def _running(self) -> subprocess.Popen[str]:
        assert self._process is not None
        return self._process

    def _reap(self, process: subprocess.Popen[str]) -> None:
        process.wait(PATIENCE_S)
        for pipe in (process.stdin, process.stdout):
            self._pipe(pipe).close()
        self._process = None

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe

    def end(self) -> None:
        if self._process is not None:
            self.kill()


Connect = Callable[..., Recount]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.end()


@pytest.fixture
def connect(bench: Bench) -> Iterator[Connect]:
    """Makes clients, by the role of their token."""
    clients: list[Recount] = []

    def connected(role: str = "operator", retry: Retry | None = None) -> Recount:
        client = Recount(bench.url, bench.token(role), retry=retry)
        clients.append(client)
        return client

    yield connected
    for client in clients:
        client.close()


@pytest.fixture
def client(connect: Connect) -> Recount:
    """A client of an operator, who may do all that these tests do."""
    return connect()


@pytest.fixture
def session(client: Recount) -> Session:
    return client.open_session("shop", external_id="order-17", labels={"tenant": "acme"})
