"""Compares the running service with its OpenAPI document, by requests that schemathesis makes up.

Streams, and claims that wait for a call, hold a request on purpose, so they are left to the tests
of the routes. A request that the document permits may still be refused: that the session exists,
or that an answer fits its request, is nothing that a schema says.

    api_document.py PROGRAM SCHEMATHESIS [--examples 10]
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess

from service import Connection, Service, serving

HELD = ("/v1/claims", "/v1/pending/events", "/v1/sessions/{id}/events")
CONFIG = pathlib.Path(__file__).with_name("schemathesis.toml")

# The time that the requests may take, in seconds.
LIMIT_S = 300


def command(schemathesis: pathlib.Path, service: Service, examples: int) -> list[str]:
    """Returns the command that makes up the requests."""
    return [
        str(schemathesis.resolve()),
        f"--config-file={CONFIG}",
        "run",
        f"http://127.0.0.1:{service.port}/v1/openapi.json",
        "--header",
        f"Authorization: Bearer {service.token('root', 'admin')}",
        f"--max-examples={examples}",
        "--seed=1",
        "--exclude-checks=unsupported_method,positive_data_acceptance",
        "--suppress-health-check=all",
        *(f"--exclude-path={held}" for held in HELD),
    ]


def main() -> None:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("schemathesis", type=pathlib.Path)
    parser.add_argument("--examples", type=int, default=10)
    given = parser.parse_args()
    with serving(given.program) as service:
        connection = Connection(service, service.operator)
        path = f"/v1/sessions/{connection.open_session()}/calls"
        for tool in ("pay", "ask"):
            status, made = connection.ask("POST", path, {"tool": tool, "args": {}}, key=tool)
            assert status == 202, (status, made)
        compared = subprocess.run(
            command(given.schemathesis, service, given.examples),
            cwd=service.directory,
            timeout=LIMIT_S,
            check=False,
        )
        assert compared.returncode == 0, "the service is not as its document says"
        # After every made-up request, the service is as before. It has closed the connection above,
        # which was idle meanwhile.
        status, health = Connection(service, service.operator).ask("GET", "/readyz")
        assert status == 200, (status, health)


if __name__ == "__main__":
    main()
