"""Time stamps of RFC 3161 for the checkpoints of `recount serve`.

The authority is `openssl ts` behind a small HTTP server, with certificates that are made on the
spot. In the end:

* each checkpoint on record has a time stamp that `openssl ts -verify` accepts, in the directory of
  the anchor and on record;
* an authority that is down, refuses, or answers another request is asked again, and no checkpoint
  is passed over.

    time_stamps.py PROGRAM
"""

from __future__ import annotations

import argparse
import http.server
import json
import pathlib
import subprocess
import tempfile
import threading
import time

from service import PATIENCE_S, Service

CONFIG = """\
journal = "journal"
[checkpoints]
origin = "example.com/journal"
keys = ["checkpoint.key"]
[[checkpoints.anchors]]
name = "tsa"
timestamp = "http://127.0.0.1:{port}/"
directory = "stamps"
[agents.shop]
[[agents.shop.client_tools]]
name = "ask"
description = "Waits for an approver"
confirm = "Go on?"
"""

# The authority of openssl: its certificate may do nothing but this.
AUTHORITY = """\
[tsa]
serial = {directory}/serial
crypto_device = builtin
signer_cert = {directory}/tsa.pem
signer_key = {directory}/tsa.key
certs = {directory}/tsa.pem
default_policy = 1.2.3.4.1
signer_digest = sha256
digests = sha256
[extensions]
extendedKeyUsage = critical,timeStamping
"""


def openssl(*arguments: str) -> bytes:
    """Runs openssl, which must succeed."""
    done = subprocess.run(["openssl", *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


class Authority(http.server.ThreadingHTTPServer):
    """A time stamp authority that can also fail."""

    mode = "down"

    def __init__(self, directory: pathlib.Path) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.directory, self.last, self.failed = directory, b"", 0
        (directory / "tsa.conf").write_text(AUTHORITY.format(directory=directory))
        (directory / "serial").write_text("01\n")
        key = ("-newkey", "rsa:2048", "-nodes")
        ca, tsa = str(directory / "ca"), str(directory / "tsa")
        openssl(
            *("req", "-x509", *key, "-keyout", f"{ca}.key", "-out", f"{ca}.pem"),
            *("-subj", "/CN=Test CA", "-days", "2"),
        )
        openssl(
            *("req", *key, "-keyout", f"{tsa}.key", "-out", f"{tsa}.csr", "-subj", "/CN=Test TSA"),
        )
        openssl(
            *("x509", "-req", "-in", f"{tsa}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key"),
            *("-CAcreateserial", "-out", f"{tsa}.pem", "-days", "2"),
            *("-extfile", f"{tsa}.conf", "-extensions", "extensions"),
        )

    def reply(self, query: bytes) -> bytes:
        """The response of openssl."""
        (self.directory / "query").write_bytes(query)
        return openssl(
            *("ts", "-reply", "-config", str(self.directory / "tsa.conf"), "-section", "tsa"),
            *("-queryfile", str(self.directory / "query")),
        )


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers one request."""

    server: Authority

    def do_POST(self) -> None:
        """Answers a query, or fails as the authority should."""
        query = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Content-Type"] == "application/timestamp-query"
        status, body = 200, b""
        if self.server.mode == "down":
            status = 503
        elif self.server.mode == "altered":
            # The hash of the message in the response is another one.
            imprint = query[24:56]
            body = self.server.reply(query).replace(imprint, bytes(32))
        elif self.server.mode == "replayed":
            body = self.server.last
        else:
            body = self.server.last = self.server.reply(query)
        self.server.failed += self.server.mode != "up"
        self.send_response(status)
        self.send_header("Content-Type", "application/timestamp-reply")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def until(what: str, condition: object) -> None:
    """Waits for a condition."""
    assert callable(condition)
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited in vain for: {what}"
        time.sleep(0.02)


def verified(directory: pathlib.Path, authority: Authority) -> list[str]:
    """The checkpoints of a directory, whose time stamps openssl has accepted."""
    names = sorted(it.stem for it in directory.glob("*.tsr"))
    for name in names:
        openssl(
            *("ts", "-verify", "-in", str(directory / f"{name}.tsr")),
            *("-data", str(directory / f"{name}.checkpoint")),
            *("-CAfile", str(authority.directory / "ca.pem")),
        )
    return names


def checked(program: pathlib.Path, directory: pathlib.Path) -> None:
    """Plays it all in an empty directory."""
    place = directory / "authority"
    place.mkdir()
    stamps = directory / "stamps"
    stamps.mkdir()
    authority = Authority(place)
    threading.Thread(target=authority.serve_forever, daemon=True).start()
    files = {"recount.toml": CONFIG.format(port=authority.server_address[1])}
    service = Service(program.resolve(), directory, files)
    made = service.run("checkpoint", "key", "example.com/journal", "--out", "checkpoint.key")
    assert made.returncode == 0, made.stderr
    service.start()
    try:
        # Each end of a process makes a checkpoint, and each process goes on with its anchor.
        for mode in ("down", "up", "replayed", "altered"):
            before = authority.failed
            authority.mode = mode
            assert service.stop() == 0
            if mode != "up":
                until(f"an attempt while {mode}", lambda b=before: authority.failed > b)
            service.start()
        assert len(verified(stamps, authority)) < checkpoints(service), "an altered one was taken"
        authority.mode = "up"
        until("all time stamps", lambda: len(list(stamps.glob("*.tsr"))) == checkpoints(service))
        assert service.stop() == 0
    finally:
        service.over.set()
        service.kill()
    names = verified(stamps, authority)
    assert len(names) == checkpoints(service) == 5, names
    written = service.run("checkpoint", "files", "journal", "--out", "files")
    assert written.returncode == 0, written.stderr
    assert verified(directory / "files", authority) == names
    listed = service.run("checkpoint", "list", "journal", "--json")
    for line in listed.stdout.splitlines():
        (stamp,) = json.loads(line)["time_stamps"]
        assert stamp["anchor"] == "tsa" and stamp["time"].endswith("Z"), stamp
    for command in (("replay", "journal", "--json"), ("verify", "journal")):
        done = service.run(*command)
        assert done.returncode == 0, done.stdout + done.stderr
    print(f"{len(names)} checkpoints with a time stamp that openssl accepts")


def checkpoints(service: Service) -> int:
    """The number of checkpoints on record, also while the service runs."""
    listed = service.run("checkpoint", "list", "journal", "--json")
    assert listed.returncode == 0, listed.stderr
    return len(listed.stdout.splitlines())


def main() -> None:
    """Plays it all."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("program", type=pathlib.Path)
    with tempfile.TemporaryDirectory() as directory:
        checked(arguments.parse_args().program, pathlib.Path(directory))


if __name__ == "__main__":
    main()
