"""A running `recount serve`, which a script starts, kills and asks. Standard library only."""

from __future__ import annotations

import contextlib
import http.client
import json
import pathlib
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

CONFIG = """\
journal = "journal"
[agents.shop]
[[agents.shop.client_tools]]
name = "pay"
description = "Pays an order"
[[agents.shop.client_tools]]
name = "pack"
description = "Packs an order, and may do so again"
in_doubt = "retry"
[[agents.shop.client_tools]]
name = "ask"
description = "Waits for an approver"
confirm = "Go on?"
"""

# The time between two attempts while no process listens, in seconds. A start takes about 0.1 s.
RECONNECT_S = 0.02

# An expired limit is a failure of the script, so it is long, in seconds.
PATIENCE_S = 60


class Down(Exception):
    """No response: the service was killed, does not listen yet, or has ended for good."""


@contextlib.contextmanager
def serving(program: pathlib.Path, files: dict[str, str] | None = None) -> Iterator[Service]:
    """Serves an empty journal in a directory of its own, with these files for the service.

    After a body that succeeds, the service must shut down with exit code 0, and its journal must
    replay and verify. After a body that fails, the service is killed.
    """
    with tempfile.TemporaryDirectory() as directory:
        service = Service(program.resolve(), pathlib.Path(directory), files)
        service.start()
        try:
            yield service
            code = service.stop()
            assert code == 0, f"the service ended with {code}"
        finally:
            service.over.set()
            service.kill()
        for command in (("replay", "journal", "--json"), ("verify", "journal")):
            done = service.run(*command)
            assert done.returncode == 0, done.stdout + done.stderr


class Service:
    """One journal and its tokens, served by one process after another at the same address."""

    def __init__(
        self,
        program: pathlib.Path,
        directory: pathlib.Path,
        files: dict[str, str] | None = None,
    ) -> None:
        self.program, self.directory = program, directory
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        self.over = threading.Event()
        """Set once no further process will be started."""
        for name, content in (files or {"recount.toml": CONFIG}).items():
            (directory / name).write_text(content)
        self.operator = self.token("ada", "operator")
        self.client = self.token("worker", "client")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of the program beside the service."""
        return subprocess.run(
            [self.program, *arguments],
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def token(self, name: str, role: str, *options: str) -> str:
        """Creates a token."""
        made = self.run("token", "create", name, "--role", role, "--json", *options)
        assert made.returncode == 0, made.stderr
        return str(json.loads(made.stdout)["token"])

    def start(self) -> None:
        """Starts a process, and returns once it serves."""
        self.process = subprocess.Popen(
            [self.program, "serve", "--listen", f"127.0.0.1:{self.port}", "--json"],
            cwd=self.directory,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        ready = self.process.stdout.readline()
        if not ready.startswith("{"):
            self.over.set()
            raise AssertionError(f"the service did not start: {ready!r}")
        self.port = int(json.loads(ready)["address"].rsplit(":", 1)[1])

    def kill(self) -> None:
        """Ends the process, if there is one, as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self._reap()

    def stop(self) -> int:
        """Ends the process as an operator would, and returns its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self._reap()

    def _reap(self) -> int:
        assert self.process is not None
        assert self.process.stdout is not None
        code = self.process.wait(timeout=PATIENCE_S)
        self.process.stdout.close()
        self.process = None
        return code


class Connection:
    """Requests of one sender, on a connection that is made anew after a failure."""

    def __init__(self, service: Service, token: str) -> None:
        self.service, self.token = service, token
        self.http: http.client.HTTPConnection | None = None

    def ask(
        self, method: str, path: str, body: object = None, key: str | None = None
    ) -> tuple[int, Any]:
        """Sends a request. Returns the status and the body, or raises `Down`."""
        headers = {"Authorization": f"Bearer {self.token}"}
        content = None
        if body is not None:
            content = json.dumps(body)
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            if self.http is None:
                self.http = http.client.HTTPConnection(
                    "127.0.0.1", self.service.port, timeout=PATIENCE_S
                )
            self.http.request(method, path, body=content, headers=headers)
            response = self.http.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text else None
        except (OSError, http.client.HTTPException) as error:
            self.http = None
            raise Down(str(error)) from error

    def persist(
        self, method: str, path: str, body: object = None, key: str | None = None
    ) -> tuple[int, Any]:
        """Sends a request until the service takes it, over kills of the service."""
        while True:
            with contextlib.suppress(Down):
                status, answer = self.ask(method, path, body, key)
                if status != 503:
                    return status, answer
            # The next process is about to listen; no event announces it to a client.
            if self.service.over.wait(RECONNECT_S):
                raise Down("the service has ended for good")

    def open_session(self, key: str | None = None) -> str:
        """Opens a session of the agent `shop`, and returns its id."""
        status, opened = self.persist("POST", "/v1/sessions", {"agent": "shop"}, key)
        assert status == 201, (status, opened)
        return str(opened["session"])
