"""PostgreSQL servers that a script starts, kills and promotes: a primary and its standby.

A commit of the primary is acknowledged after the standby has flushed it. So a promotion loses no
acknowledged commit. A server is run by a user without rights, as PostgreSQL demands.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any

# An expired limit is a failure of the script, so it is long, in seconds.
PATIENCE_S = 60

AGAIN_S = 0.05

USER = "recount"

# The standby asks again soon after a lost connection; 5 s by default. A restart syncs the file
# system, and not each of a thousand files. The limit of connections is that of three nodes, and of
# what their killed processes have left open.
SETTINGS = """\
listen_addresses = '127.0.0.1'
max_connections = 200
log_min_messages = warning
wal_retrieve_retry_interval = '200ms'
recovery_init_sync_method = syncfs
"""

# Commits wait for any standby.
SYNCHRONOUS = "*"


def programs() -> pathlib.Path:
    """Returns the directory with the programs of PostgreSQL, as `.ci/postgres` finds it."""
    found = shutil.which("initdb")
    if found is not None:
        return pathlib.Path(found).resolve().parent
    versions = pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")
    by_version = sorted(versions, key=lambda it: float(it.parent.parent.name))
    assert by_version, "there is no PostgreSQL; .ci/postgres installs it"
    return by_version[-1].parent


def as_user() -> dict[str, Any]:
    """Returns the user of servers, as options of a process. Root may not run them."""
    if os.geteuid() != 0:
        return {}
    try:
        found = pwd.getpwnam("postgres")
    except KeyError:
        return {"user": 65534, "group": 65534, "extra_groups": []}
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}


def free_port() -> int:
    """Returns a port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Database:
    """One server, with its data in a directory."""

    def __init__(self, place: pathlib.Path, programs: pathlib.Path) -> None:
        self.place, self.programs = place, programs
        self.port = free_port()
        self.data = place / f"data-{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def options(self) -> dict[str, Any]:
        """Returns the options of its processes."""
        variables = {"LC_ALL": "C", "HOME": str(self.place), "PATH": os.environ["PATH"]}
        return {"cwd": "/", "env": variables, **as_user()}

    def run(self, program: str, *arguments: str) -> str:
        """Runs a program of PostgreSQL, and returns its output."""
        done = subprocess.run(
            [self.programs / program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
            check=False,
            **self.options(),
        )
        assert done.returncode == 0, f"{program} {arguments}: {done.stdout}"
        return str(done.stdout).strip()

    def query(self, statement: str) -> str:
        """Runs a statement of SQL, and returns what it found."""
        options = ["-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(self.port), "-U", USER]
        return self.run("psql", *options, "-d", "postgres", "-c", statement)

    @contextlib.contextmanager
    def locking(self, statement: str) -> Iterator[int]:
        """Holds the locks of a statement until the end of the block. Gives the id of its process.

        The statement returns no rows.
        """
        options = ["-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(self.port), "-U", USER]
        with subprocess.Popen(
            [self.programs / "psql", *options, "-d", "postgres"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **self.options(),
        ) as holding:
            assert holding.stdin is not None
            assert holding.stdout is not None
            holding.stdin.write(f"BEGIN; {statement}; SELECT pg_backend_pid();\n")
            holding.stdin.flush()
            try:
                yield int(holding.stdout.readline())
            finally:
                holding.stdin.close()
                holding.wait(PATIENCE_S)

    def make(self) -> None:
        """Makes an empty cluster."""
        options = [f"--username={USER}", "--auth=trust", "--encoding=UTF8", "--locale=C"]
        self.run("initdb", f"--pgdata={self.data}", "--no-sync", "--no-instructions", *options)
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(f"{SETTINGS}unix_socket_directories = '{self.place}'\n")

    def start(self) -> None:
        """Starts the server, and waits until it takes connections."""
        with (self.place / f"log-{self.port}").open("a") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", str(self.data), "-p", str(self.port)],
                stdout=log,
                stderr=subprocess.STDOUT,
                **self.options(),
            )
        until = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(AssertionError):
                self.query("SELECT 1")
                return
            assert time.monotonic() < until, f"PostgreSQL did not start: {self.place}"
            time.sleep(AGAIN_S)
            if self.process.poll() is not None:
                # Processes of a killed postmaster still have its shared memory.
                self.start()
                return

    def kill(self) -> None:
        """Kills the postmaster. Its processes notice it and end."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ends the server at once, if it runs. Its data is not needed any more."""
        self._end(signal.SIGQUIT)

    def _end(self, with_signal: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(with_signal)
            self.process.wait(PATIENCE_S)

    def standby(self) -> Database:
        """Starts a standby of this server, and returns once each commit waits for it."""
        made = Database(self.place, self.programs)
        source = f"host=127.0.0.1 port={self.port} user={USER}"
        options = ["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"]
        self.run("pg_basebackup", f"--pgdata={made.data}", f"--dbname={source}", *options)
        # Once promoted it has no standby, and waits for none.
        with (made.data / "postgresql.auto.conf").open("a") as settings:
            settings.write("synchronous_standby_names = ''\n")
        made.start()
        self.query(f"ALTER SYSTEM SET synchronous_standby_names = '{SYNCHRONOUS}'")
        self.query("SELECT pg_reload_conf()")
        self.wait_for_standby()
        return made

    def wait_for_standby(self) -> None:
        """Waits until commits wait for a standby that is connected."""
        until = time.monotonic() + PATIENCE_S
        synchronous = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        while self.query(synchronous) != "1":
            assert time.monotonic() < until, "the standby does not follow the primary"
            time.sleep(AGAIN_S)


class Pair:
    """A primary and its synchronous standby, which replaces it again and again."""

    def __init__(self, place: pathlib.Path) -> None:
        if os.geteuid() == 0:
            user = as_user()
            os.chown(place, user["user"], user["group"])
        self.primary = Database(place, programs())
        self.primary.make()
        self.primary.start()
        self.next: Database = self.primary.standby()

    def promote(self) -> Database:
        """Promotes the standby, and returns the former primary, which may still run."""
        former = self.primary
        self.next.run("pg_ctl", "promote", "--silent", "--wait", f"--pgdata={self.next.data}")
        self.primary = self.next
        return former

    def follow(self, former: Database) -> None:
        """Removes a former primary, and makes a new standby."""
        former.stop()
        shutil.rmtree(former.data)
        self.next = self.primary.standby()

    def stop(self) -> None:
        """Ends both servers."""
        for server in (self.next, self.primary):
            server.stop()
