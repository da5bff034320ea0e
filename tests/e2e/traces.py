"""The spans that `recount serve` sends, compared with those of `recount export --format otlp`.

A service with `[traces]` makes calls that run, are denied, expire, and are cut off by SIGKILL. A
collector, which rejects the first requests, decodes every body with the official package
`opentelemetry-proto`. In the end it must have exactly the spans that the export has: the same ids,
times and attributes, each call once.

    traces.py PROGRAM
"""

import argparse
import base64
import http.server
import json
import pathlib
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1 import trace_pb2
from service import Connection, Service

CONFIG = """\
journal = "journal"
[traces]
endpoint = "http://127.0.0.1:{port}"
headers_file = "headers"
[agents.shop]
tools = ["tools.toml"]
[[agents.shop.client_tools]]
name = "pay"
description = "Pays an order"
[[agents.shop.client_tools]]
name = "ask"
description = "Waits for an approver"
confirm = "Go on?"
[[agents.shop.client_tools]]
name = "hurry"
description = "Waits for an approver, for a second"
confirm = "Go on?"
confirm_expires_after = "1s"
"""

TOOLS = """\
[[tool]]
name = "slow"
description = "Is cut off by the end of the service"
command = ["sh", "-c", "cat >/dev/null; sleep 3"]
"""

# The content that the spans may not have, because nothing asked for it.
SECRET = "the-secret-order"
# The time until every span has arrived.
ARRIVAL_S = 40


def decoded(body: bytes | str) -> trace_service_pb2.ExportTraceServiceRequest:
    """The request as the official messages read it. Unknown fields are errors."""
    read = json.loads(body)
    for resource in read["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                ids = [span, *span.get("links", [])]
                # In OTLP these bytes are hex digits. The JSON of protobuf has base64.
                for holder in ids:
                    for key in ("traceId", "spanId", "parentSpanId"):
                        if key in holder:
                            raw = bytes.fromhex(holder[key])
                            assert len(raw) == (16 if key == "traceId" else 8), holder
                            holder[key] = base64.b64encode(raw).decode()
    request = trace_service_pb2.ExportTraceServiceRequest()
    json_format.ParseDict(read, request, ignore_unknown_fields=False)
    # The bytes of protobuf hold the same.
    again = trace_service_pb2.ExportTraceServiceRequest.FromString(request.SerializeToString())
    assert again == request
    return request


def spans_of(
    request: trace_service_pb2.ExportTraceServiceRequest,
) -> Iterator[trace_pb2.Span]:
    """The spans of a request, whose resource and scope must be ours."""
    for resource in request.resource_spans:
        names = {it.key: it.value.string_value for it in resource.resource.attributes}
        assert names == {"service.name": "recount"}, names
        for scope in resource.scope_spans:
            assert scope.scope.name == "recount" and scope.schema_url, scope
            yield from scope.spans


class Collector(http.server.BaseHTTPRequestHandler):
    """Keeps the spans that arrive, by their ids."""

    spans, rejected, lock = {}, [503, 429], threading.Lock()

    def do_POST(self) -> None:
        """Takes a request, unless it is the turn of a rejection."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.lock:
            assert self.path == "/v1/traces", self.path
            assert self.headers["Authorization"] == "Bearer s3cret", "the header is missing"
            if self.rejected:
                return self.answer(self.rejected.pop(0))
            for span in spans_of(decoded(body)):
                known = self.spans.setdefault((span.trace_id, span.span_id), span)
                assert known == span, "a span was sent again with other content"
        return self.answer(200)

    def answer(self, status: int) -> None:
        """Sends a response without content."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


def make(connection: Connection, session: str, tool: str, key: str, status: int = 202) -> Any:
    """Makes a call, and returns its state."""
    path, body = f"/v1/sessions/{session}/calls", {"tool": tool, "args": {"order": SECRET}}
    answered, told = connection.ask("POST", path, body, key=key)
    assert answered == status, (answered, told)
    return told


def ended(connection: Connection, session: str, call: int) -> str:
    """Waits for the end of a call, and returns its outcome."""
    path = f"/v1/sessions/{session}/calls/{call}?wait=20"
    status, told = connection.persist("GET", path)
    assert status == 200, (status, told)
    return str(told["ended"]["outcome"])


def run_calls(service: Service) -> dict[int, str]:
    """Makes the calls of one session, with a kill in the middle. Returns the outcomes by call."""
    client = Connection(service, service.client)
    operator = Connection(service, service.operator)
    opened = client.ask("POST", "/v1/sessions", {"agent": "shop"}, key="traced")[1]
    session = opened["session"]
    denied = make(client, session, "ask", "denied")
    path = f"/v1/requests/{denied['request']}/answer"
    status, told = operator.ask("POST", path, {"confirmed": False, "reason": SECRET})
    assert status == 200, (status, told)
    expired = make(client, session, "hurry", "expired")
    run = make(client, session, "pay", "run")
    claim = {"claim": "w1", "tools": ["pay"], "lease_ms": 60_000, "wait": 5}
    status, claimed = client.ask("POST", "/v1/claims", claim)
    assert status == 200 and claimed["call"] == run["call"], (status, claimed)
    path = f"/v1/sessions/{session}/calls/{run['call']}/claim/finish"
    report = {"claim": "w1", "attempt": claimed["attempt"], "result": {"paid": SECRET}}
    status, told = client.ask("POST", path, report)
    assert status == 200, (status, told)
    doubtful = make(client, session, "slow", "cut off")
    service.kill()
    service.start()
    outcomes = {}
    for name, made in [
        ("denied", denied),
        ("expired", expired),
        ("returned", run),
        ("unknown", doubtful),
    ]:
        outcomes[made["call"]] = ended(client, session, made["call"])
        assert outcomes[made["call"]] == name, (name, outcomes)
    # The connection of before ended with the killed process.
    operator = Connection(service, service.operator)
    status, told = operator.ask("POST", f"/v1/sessions/{session}/close", {"reason": "done"})
    assert status == 200, (status, told)
    return outcomes


def attributes(span: trace_pb2.Span) -> dict[str, Any]:
    """The attributes of a span by their keys."""
    return {it.key: it.value for it in span.attributes}


def check(spans: list[trace_pb2.Span], outcomes: dict[int, str]) -> None:
    """Each call has one span with its outcome, and no span has content."""
    calls = [it for it in spans if it.name.startswith("execute_tool ")]
    told = {
        attributes(it)["recount.call.seq"].int_value: attributes(it)["recount.outcome"].string_value
        for it in calls
    }
    assert told == outcomes and len(calls) == len(outcomes), (told, outcomes)
    for span in spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano, span
        assert SECRET not in str(span), span
        # As a word: an id in hexadecimal digits may have the letters.
        assert not re.search(r"\bada\b", str(span)), span
        has_error = "error.type" in attributes(span)
        assert has_error == (span.status.code == trace_pb2.Status.STATUS_CODE_ERROR), span
    waits = [it for it in spans if it.name.startswith("await_approval ")]
    ends = sorted(attributes(it)["recount.request.end"].string_value for it in waits)
    assert ends == ["denied", "expired"], ends
    root = [it for it in spans if not it.parent_span_id]
    assert [it.name for it in root] == ["invoke_agent shop"], root
    ids = {it.span_id for it in spans}
    assert all(it.parent_span_id in ids for it in spans if it.parent_span_id), "an orphan"


def main() -> None:
    """Compares the spans that arrive with those of an export."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    program = parser.parse_args().program.resolve()
    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as place:
        directory = pathlib.Path(place)
        service = Service(program, directory)
        config = CONFIG.format(port=collector.server_address[1])
        (directory / "recount.toml").write_text(config)
        (directory / "tools.toml").write_text(TOOLS)
        (directory / "headers").write_text("authorization=Bearer%20s3cret\n")
        (directory / "headers").chmod(0o600)
        checked = service.run("check")
        assert checked.returncode == 0, checked.stderr
        service.start()
        try:
            outcomes = run_calls(service)
            assert service.stop() == 0
            exported = service.run("export", "journal", "--format", "otlp")
            assert exported.returncode == 0, exported.stderr
            lines = exported.stdout.splitlines()
            expected = [it for line in lines for it in spans_of(decoded(line))]
            check(expected, outcomes)
            # The first process after a shutdown sends what did not leave in time.
            service.start()
            until = time.monotonic() + ARRIVAL_S
            while len(Collector.spans) < len(expected) and time.monotonic() < until:
                time.sleep(0.1)
            assert service.stop() == 0
        finally:
            service.over.set()
            service.kill()
    arrived = sorted(Collector.spans.values(), key=lambda it: it.span_id)
    assert arrived == sorted(expected, key=lambda it: it.span_id), "other spans arrived"
    assert not Collector.rejected, "the collector was asked once only"
    print(f"{len(arrived)} spans arrived as exported, of {len(outcomes)} calls")


if __name__ == "__main__":
    main()
