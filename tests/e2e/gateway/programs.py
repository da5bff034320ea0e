"""The programs that a conversation needs: the simulator, and clients in two languages."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import pathlib
import ssl
import subprocess
import sys
from collections.abc import Iterator

HERE = pathlib.Path(__file__).parent
SCRIPT = HERE.parents[2] / "fixtures/scripts/gateway.jsonl"

# An expired limit is a failure, so it is long, in seconds.
PATIENCE_S = 60

FRAMEWORK = ("observed", "mixed", "quiet", "denied", "hosted")
SCENES = (*FRAMEWORK, "talk", "approved", "interrupted", "cancelled", "resumed")
"""The scenes that are the same without a gateway, but for its policies. A framework, which decides
itself what it sends, has some of them."""

GATED = ("inline", "across")
"""The scenes that need a gateway."""


@contextlib.contextmanager
def simulating(program: pathlib.Path, script: pathlib.Path = SCRIPT) -> Iterator[int]:
    """Plays a script as the vendor, and yields the port."""
    process = subprocess.Popen(
        [program, "simulate", "--script", script, "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "ws://" in line:
                address = line.split("ws://")[1].split()[0].rstrip("/")
                yield int(address.rsplit(":", 1)[1])
                break
        else:
            raise AssertionError("the simulator did not say where it listens")
    finally:
        process.kill()
        process.wait(PATIENCE_S)


def certificate(directory: pathlib.Path) -> pathlib.Path:
    """Makes a certificate for 127.0.0.1 that lives as long as the test, with its key."""
    pem = directory / "throw-away.pem"
    options = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=tap"
    options += " -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:TRUE"
    files = ["-keyout", str(pem), "-out", str(pem.with_suffix(".crt"))]
    command = ["openssl", "req", "-x509", *options.split(), *files]
    subprocess.run(command, check=True, capture_output=True)
    pem.write_text(pem.read_text() + pem.with_suffix(".crt").read_text())
    return pem


def server_context(pem: pathlib.Path) -> ssl.SSLContext:
    """Returns the TLS of a server with this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


@dataclasses.dataclass(frozen=True)
class Client:
    """A client program. Each understands the same options."""

    name: str
    command: tuple[str, ...]
    directory: pathlib.Path | None = None
    """Where it runs; a program for Node finds its packages there."""
    needs_tls: bool = True
    is_framework: bool = False

    @property
    def scenes(self) -> tuple[str, ...]:
        """The scenes that it holds with and without a gateway."""
        return FRAMEWORK if self.is_framework else SCENES

    @property
    def gated(self) -> tuple[str, ...]:
        """The scenes that it holds through a gateway alone."""
        return GATED[:1] if self.is_framework else GATED

    @staticmethod
    def python() -> Client:
        """The vendor's library for Python, as installed for this process."""
        return Client("python", (sys.executable, "-B", str(HERE / "conversation.py")))

    @staticmethod
    def node(directory: pathlib.Path) -> Client:
        """The vendor's library for Node, as installed in a directory."""
        node = directory / "node_modules/.bin/node"
        command = (str(node) if node.exists() else "node", str(HERE / "conversation.mjs"))
        return Client("node", command, directory, needs_tls=False)

    @staticmethod
    def of(python: str, script: str) -> Client:
        """Another program of this directory, such as `pipecat_gemini.py`, and its interpreter."""
        command = (python, "-B", str(HERE / script))
        return Client(script.removesuffix(".py"), command, is_framework=True)

    async def run(
        self, url: str, seen: pathlib.Path, scenes: tuple[str, ...], trusted: pathlib.Path
    ) -> str:
        """Runs the program over these scenes, until it ends with 0. Returns its output.

        `trusted` has the certificates that it trusts.
        """
        trust = {"SSL_CERT_FILE": str(trusted), "NODE_EXTRA_CA_CERTS": str(trusted)}
        options = ["--url", url, "--seen", str(seen), "--scenes", ",".join(scenes)]
        process = await asyncio.create_subprocess_exec(
            *self.command,
            *options,
            cwd=self.directory,
            env={**os.environ, **trust},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            limit = None if "hold of" in scenes[0] else PATIENCE_S
            told, _ = await asyncio.wait_for(process.communicate(), limit)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, f"{self.name} at {url}: {told.decode()}"
        return told.decode()
