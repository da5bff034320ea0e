"""Compares the running service with its OpenAPI document, by requests that schemathesis makes up.

Streams, and claims that wait for a call, hold a request on purpose, so they are left to the tests
of the routes. A request that the document permits may still be refused: that the session exists,
or that an answer fits its request, is nothing that a schema says.

    api_document.py PROGRAM SCHEMATHESIS [--examples 10]
"""

import argparse
import pathlib
import subprocess
import tempfile

from service import Connection, Service

HELD = ["/v1/claims", "/v1/pending/events", "/v1/sessions/{id}/events"]
CONFIG = pathlib.Path(__file__).with_name("schemathesis.toml")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("schemathesis", type=pathlib.Path)
    parser.add_argument("--examples", type=int, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        service = Service(given.program.resolve(), pathlib.Path(directory), 0)
        service.start()
        with service:
            connection = Connection(service, service.operator)
            status, opened = connection.ask("POST", "/v1/sessions", {"agent": "shop"})
            assert status == 201, (status, opened)
            path = f"/v1/sessions/{opened['session']}/calls"
            for tool in ("pay", "ask"):
                status, made = connection.ask("POST", path, {"tool": tool, "args": {}}, key=tool)
                assert status == 202, (status, made)
            command = [
                given.schemathesis.resolve(),
                f"--config-file={CONFIG}",
                "run",
                f"http://127.0.0.1:{service.port}/v1/openapi.json",
                "--header",
                f"Authorization: Bearer {service.token('root', 'admin')}",
                f"--max-examples={given.examples}",
                "--seed=1",
                "--exclude-checks=unsupported_method,positive_data_acceptance",
                "--suppress-health-check=all",
            ]
            for held in HELD:
                command.append(f"--exclude-path={held}")
            made = subprocess.run(command, cwd=directory, timeout=300, check=False)
            assert made.returncode == 0, "the service is not as its document says"
            # Whatever came, the service is as before.
            status, health = connection.ask("GET", "/readyz")
            assert status == 200, (status, health)
            assert service.stop() == 0
        checked = service.run("verify", "journal")
        assert checked.returncode == 0, checked.stdout + checked.stderr


if __name__ == "__main__":
    main()
