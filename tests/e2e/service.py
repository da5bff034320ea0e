"""A running `recount serve`, which a script starts, kills and asks. Standard library only."""

import http.client
import json
import subprocess
import time

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


class Down(Exception):
    """The service did not answer: it was killed, or is not there yet."""


class Service:
    """One journal and its tokens, served by one process after another at the same address."""

    def __init__(self, program, directory, port):
        self.program, self.directory, self.port = program, directory, port
        self.process = None
        (directory / "recount.toml").write_text(CONFIG)
        self.operator = self.token("ada", "operator")
        self.client = self.token("worker", "client")

    def run(self, *arguments):
        """Runs a command of the program beside the service."""
        return subprocess.run(
            [self.program, *arguments],
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def token(self, name, role):
        made = self.run("token", "create", name, "--role", role, "--json")
        assert made.returncode == 0, made.stderr
        return json.loads(made.stdout)["token"]

    def start(self):
        """Starts a process, and returns once it serves."""
        self.process = subprocess.Popen(
            [self.program, "serve", "--listen", f"127.0.0.1:{self.port}", "--json"],
            cwd=self.directory,
            stdout=subprocess.PIPE,
            text=True,
        )
        ready = self.process.stdout.readline()
        assert ready.startswith("{"), f"the service did not start: {ready!r}"
        self.port = int(json.loads(ready)["address"].rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()

    def kill(self):
        """Ends the process as a power cut would."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """Ends the process as an operator would, and returns its exit code."""
        self.process.terminate()
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code


class Connection:
    """Requests of one sender, on a connection that is made anew after a failure."""

    def __init__(self, service, token):
        self.service, self.token = service, token
        self.http = None

    def ask(self, method, path, body=None, key=None):
        """Sends a request. Returns the status and the body, or raises `Down`."""
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            body = json.dumps(body)
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            if self.http is None:
                self.http = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=60)
            self.http.request(method, path, body=body, headers=headers)
            response = self.http.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text else None
        except (OSError, http.client.HTTPException) as error:
            self.http = None
            raise Down(str(error)) from error

    def persist(self, method, path, body=None, key=None):
        """Sends a request until it is answered, over restarts of the service."""
        while True:
            try:
                status, answer = self.ask(method, path, body, key)
            except Down:
                # The next process is about to listen; there is nothing to be told before it does.
                time.sleep(0.02)
                continue
            if status != 503:
                return status, answer
            time.sleep(0.02)
