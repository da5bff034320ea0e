"""Notifications of `recount serve`, while its sink is down and the service is killed.

Receivers on this machine take the messages of two webhooks and check each signature with Python's
own `hmac`. The service is killed with SIGKILL in each round, between calls that wait for an
approver and answers to them, and the receiver is down in every second round. In the end:

* each request, each answer and each escalation on record was delivered, and nothing else;
* a message that came again had the id of the first one, and no two messages have the same id;
* while all is well, a message arrives within a second of its record;
* a refused message is a dead letter until an operator sends it again.

    notifications.py PROGRAM [--rounds 3]
"""

from __future__ import annotations

import argparse
import base64
import collections
import datetime
import hashlib
import hmac
import http.server
import json
import pathlib
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from service import PATIENCE_S, Connection, Service

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()

CONFIG = """\
journal = "journal"
[[sinks]]
name = "ops"
kind = "webhook"
url = "http://127.0.0.1:{port}/ops"
secret_file = "secret"
detail = "arguments"
retry_first = "50ms"
retry_longest = "200ms"
attempts = 1000000
[[sinks]]
name = "boss"
kind = "webhook"
url = "http://127.0.0.1:{port}/boss"
secret_file = "secret"
detail = "none"
retry_first = "50ms"
retry_longest = "200ms"
attempts = 1000000
[sinks.templates]
escalated = "Eine Freigabe wartet: {{link}}"
[[routes]]
sinks = ["ops"]
on = ["asked", "decided"]
escalate_after = "2s"
escalate_to = ["boss"]
[agents.shop]
[[agents.shop.client_tools]]
name = "ask"
description = "Waits for an approver"
confirm = "Go on?"
"""

# The calls of a round. Every second one is answered.
CALLS = 6

# The longest time from a record to its message, in seconds, while all is well.
PROMPT_S = 1.0

# The kinds of records, with the messages that they give.
MESSAGES = {
    "confirmation_requested": "recount.asked",
    "confirmation_answered": "recount.decided",
}

Key = tuple[str, str, int]
"""The type of a message, its session, and its record."""


class Inbox:
    """The messages that arrived, and a server for them that can be down."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ids: dict[Key, set[str]] = collections.defaultdict(set)
        self.deliveries = 0
        self.latest: dict[Key, float] = {}
        """The seconds from each record to its first delivery."""
        self.faults: list[str] = []
        self.refused: list[Key] = []
        """The messages that are refused once."""
        self.refuse_next = False
        self.port = 0
        self.server: http.server.ThreadingHTTPServer | None = None
        self.up()

    def up(self) -> None:
        """Listens, always on the same port."""
        inbox = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """Takes a message."""

            def do_POST(self) -> None:
                """Checks and keeps a message."""
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = inbox.take(self.path, dict(self.headers), body)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Logs nothing."""

        class Server(http.server.ThreadingHTTPServer):
            """A server whose port can be used again at once."""

            allow_reuse_address = True
            daemon_threads = True

        self.server = Server(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def down(self) -> None:
        """Refuses connections from now on."""
        assert self.server is not None
        self.server.shutdown()
        self.server.server_close()
        self.server = None

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        """Checks a message and keeps it. Returns the status of the response."""
        arrived = time.time()
        try:
            message = verified(headers, body)
            read = json.loads(body)
            data = read["data"]
            assert data.get("id", message) == message, "the ids differ"
            if read["type"] == "recount.test":
                return 204
            key = (read["type"], data["session"], data["record"])
            link = f"/sessions/{data['session']}/calls/{data['call']}"
            assert data["link"].endswith(link), data
            if path == "/boss":
                assert "arguments" not in data and "tool" not in data, data
                assert data["text"] == f"Eine Freigabe wartet: {data['link']}", data
            else:
                assert data["tool"] == "ask" and data["arguments"]["order"], data
        except (AssertionError, KeyError, ValueError) as error:
            with self.lock:
                self.faults.append(f"{error!r} {body!r}")
            return 400
        with self.lock:
            if self.refuse_next:
                self.refuse_next = False
                self.refused.append(key)
                return 410
            self.deliveries += 1
            self.ids[key].add(message)
            self.latest.setdefault(key, arrived - seconds(read["timestamp"]))
        return 204

    def has(self, keys: set[Key]) -> bool:
        """True if all these messages have arrived."""
        with self.lock:
            return keys <= self.ids.keys()


def verified(headers: dict[str, str], body: bytes) -> str:
    """Returns the id of a message with a valid signature."""
    headers = {name.lower(): value for name, value in headers.items()}
    message, at = headers["webhook-id"], headers["webhook-timestamp"]
    assert abs(time.time() - int(at)) < 300, "the message is too old"
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signed = hmac.digest(key, f"{message}.{at}.".encode() + body, hashlib.sha256)
    expected = "v1," + base64.b64encode(signed).decode()
    found = headers["webhook-signature"].split()
    assert any(hmac.compare_digest(expected, it) for it in found), "the signature is wrong"
    return message


def seconds(timestamp: str) -> float:
    """The seconds since 1970 of a time in RFC 3339."""
    return datetime.datetime.fromisoformat(timestamp).timestamp()


def until(done: Callable[[], bool], what: str) -> None:
    """Waits for something that must happen."""
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, f"it did not happen: {what}"
        time.sleep(0.01)


def on_record(connection: Connection, sessions: list[str]) -> set[Key]:
    """The messages that the records of sessions must give."""
    keys = set()
    for session in sessions:
        path: str | None = f"/v1/sessions/{session}/records?limit=200"
        while path:
            status, page = connection.persist("GET", path)
            assert status == 200, (status, page)
            for record in (it["record"] for it in page["items"]):
                if record["kind"] in MESSAGES:
                    keys.add((MESSAGES[record["kind"]], session, record["seq"]))
            following = page["next"]
            path = following and f"/v1/sessions/{session}/records?limit=200&from={following}"
    return keys


def ask(client: Connection, session: str, key: str) -> Any:
    """Makes a call that waits for an approver."""
    path, body = f"/v1/sessions/{session}/calls", {"tool": "ask", "args": {"order": key}}
    status, told = client.persist("POST", path, body, key=key)
    assert status == 202, (status, told)
    return told


def answer(operator: Connection, request: str, confirmed: bool) -> None:
    """Answers a request. It may be on record already, if the service was killed meanwhile."""
    path, body = f"/v1/requests/{request}/answer", {"confirmed": confirmed}
    status, told = operator.persist("POST", path, body)
    assert status in (200, 409), (status, told)


def promptly(service: Service, inbox: Inbox, sessions: list[str]) -> None:
    """While all is well, each message arrives within a second of its record."""
    client = Connection(service, service.client)
    operator = Connection(service, service.operator)
    session = client.open_session(key="prompt")
    sessions.append(session)
    for n in range(10):
        asked = ask(client, session, f"prompt-{n}")
        answer(operator, asked["request"], confirmed=n % 2 == 0)
    keys = on_record(operator, [session])
    until(lambda: inbox.has(keys), "every message while all is well")
    slowest = max(inbox.latest[key] for key in keys)
    assert slowest < PROMPT_S, f"a message took {slowest:.2f} s"


def run_round(service: Service, inbox: Inbox, sessions: list[str], number: int) -> None:
    """Makes and answers calls around a kill. The receiver is down in every second round."""
    client = Connection(service, service.client)
    operator = Connection(service, service.operator)
    if number % 2 == 0:
        inbox.down()
    session = client.open_session(key=f"round-{number}")
    sessions.append(session)
    for n in range(CALLS):
        asked = ask(client, session, f"{number}-{n}")
        if n % 2 == 0:
            answer(operator, asked["request"], confirmed=n % 4 == 0)
        if n == number % CALLS:
            service.kill()
            service.start()
    if inbox.server is None:
        # A restart with a target that is down delays no call.
        service.kill()
        service.start()
        inbox.up()


def check_dead_letter(service: Service, inbox: Inbox, sessions: list[str]) -> None:
    """A refused message is a dead letter, until an operator sends it again."""
    client = Connection(service, service.client)
    operator = Connection(service, service.operator)

    def letters() -> list[Any]:
        status, sinks = operator.persist("GET", "/v1/sinks")
        assert status == 200, (status, sinks)
        return [it for sink in sinks["items"] for it in sink["dead_letters"]]

    assert letters() == [], letters()
    inbox.refuse_next = True
    session = client.open_session(key="refused")
    sessions.append(session)
    ask(client, session, "refused")
    until(lambda: len(letters()) == 1, "a dead letter")
    service.kill()
    service.start()
    letter = letters()[0]
    assert letter["reason"].startswith("410"), letter
    [key] = inbox.refused
    assert (key[1], key[0]) == (letter["session"], f"recount.{letter['occasion']}"), letter
    sink = "boss" if letter["occasion"] == "escalated" else "ops"
    path = f"/v1/sinks/{sink}/dead-letters/{letter['id']}/retry"
    status, told = operator.persist("POST", path)
    assert status == 204, (status, told)
    until(lambda: inbox.has({key}), "the dead letter arrives")
    assert inbox.ids[key] == {letter["id"]}, (inbox.ids[key], letter)
    assert letters() == [], letters()


def main() -> None:
    """Kills a service that notifies, and compares what arrived with what is on record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    inbox = Inbox()
    sessions: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        directory = pathlib.Path(place)
        service = Service(arguments.program.resolve(), directory)
        (directory / "recount.toml").write_text(CONFIG.format(port=inbox.port))
        (directory / "secret").write_text(SECRET + "\n")
        (directory / "secret").chmod(0o600)
        checked = service.run("check")
        assert checked.returncode == 0, checked.stderr
        tried = service.run("notify", "test", "ops", "--json")
        assert tried.returncode == 0 and json.loads(tried.stdout)["delivered"], tried
        service.start()
        try:
            promptly(service, inbox, sessions)
            for number in range(arguments.rounds):
                run_round(service, inbox, sessions, number)
            operator = Connection(service, service.operator)
            status, waiting = operator.persist("GET", "/v1/pending?limit=200")
            assert status == 200 and waiting["next"] is None, waiting
            expected = on_record(operator, sessions)
            requests = [it["confirmation"] for it in waiting["items"]]
            expected |= {("recount.escalated", it["session"], it["seq"]) for it in requests}
            until(lambda: inbox.has(expected), "every message on record")
            check_dead_letter(service, inbox, sessions)
            assert service.stop() == 0
        finally:
            service.over.set()
            service.kill()
    assert not inbox.faults, inbox.faults
    ids = [it for ids in inbox.ids.values() for it in ids]
    several = {key: ids for key, ids in inbox.ids.items() if len(ids) > 1}
    assert not several and len(set(ids)) == len(ids), several
    strangers = {it for it in inbox.ids.keys() - expected if it[1] != sessions[-1]}
    # A request that waited for a moment longer than the escalation was answered then.
    strangers = {it for it in strangers if it[0] != "recount.escalated"}
    assert not strangers, strangers
    repeated = inbox.deliveries - len(inbox.ids)
    print(f"{len(inbox.ids)} messages arrived, {repeated} of them again with the same id")


if __name__ == "__main__":
    main()
