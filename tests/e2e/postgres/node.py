"""A node of a shared journal: `recount serve`, and its supervisor.

The keeper is its supervisor, as systemd would be: it starts a node again that has ended by itself,
or that has not been ready for longer than its lease.
"""

from __future__ import annotations

import collections
import contextlib
import http.client
import pathlib
import select
import subprocess
import threading
import time

from service import Service

LEASE_S = 3

# A node that is not ready for this time is started again, in seconds.
UNREADY_S = LEASE_S + 1

# The time for the start of a node, and for its report that it is ready, in seconds.
START_S = 20
READY_S = 2

LOOK_S = 0.1

# The exit code of a program whose main thread panicked.
PANICKED = 101

CONFIG = """\
journal = "{journal}"
[postgres]
node = "{name}"
lease = "{lease}s"
[agents.shop]
tools = ["tools.toml"]
"""


class Node(Service):
    """One process after another in a directory of its own, over a journal of several nodes."""

    def __init__(
        self,
        program: pathlib.Path,
        place: pathlib.Path,
        journal: str,
        *,
        tools: str,
        client_tools: str = "",
        lease_s: int,
    ) -> None:
        self.name = place.name
        place.mkdir()
        config = CONFIG.format(journal=journal, name=self.name, lease=lease_s)
        files = {"recount.toml": config + client_tools, "tools.toml": tools}
        super().__init__(program, place, files)
        self.guard = threading.RLock()
        """Held by the thread that starts or ends the process."""
        self.is_left_alone = False
        """True while a fault has the node, so that the keeper leaves it alone."""
        self.unready_since: float | None = None

    def begin(self) -> bool:
        """Starts a process. Returns false if it does not serve in time."""
        with self.guard, (self.directory / "log").open("a") as log:
            self.unready_since = None
            self.process = subprocess.Popen(
                [self.program, "serve", "--listen", f"127.0.0.1:{self.port}", "--json"],
                cwd=self.directory,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
            assert self.process.stdout is not None
            answers, _, _ = select.select([self.process.stdout], [], [], START_S)
            line = self.process.stdout.readline() if answers else ""
            if not line.startswith("{"):
                self.kill()
                return False
            self.port = int(line.partition('"address":"')[2].partition('"')[0].rsplit(":", 1)[1])
            return True

    def is_ready(self) -> bool:
        """True if the node says that it can record."""
        http_ = http.client.HTTPConnection("127.0.0.1", self.port, timeout=READY_S)
        with contextlib.closing(http_), contextlib.suppress(OSError, http.client.HTTPException):
            http_.request("GET", "/readyz")
            return http_.getresponse().status == 200
        return False

    def panics(self) -> list[str]:
        """Returns the panics in the log of all its processes."""
        lines = (self.directory / "log").read_text().splitlines()
        return [f"panic: node {self.name}: {it}" for it in lines if "panicked at" in it]


class Keeper:
    """Watches nodes in a thread of its own."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.counts: collections.Counter[str] = collections.Counter()
        """The number of starts, by their cause."""
        self.crashes: list[str] = []
        """Ends that no loss of a lease explains."""
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self._keep, args=(it,)) for it in nodes]
        for thread in self.threads:
            thread.start()

    def close(self) -> None:
        """Ends the watch."""
        self.over.set()
        for thread in self.threads:
            thread.join()

    def all_ready(self, within: float) -> bool:
        """Waits until all nodes are ready."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            if all(it.process is not None and it.is_ready() for it in self.nodes):
                return True
            time.sleep(LOOK_S)
        return False

    def _keep(self, node: Node) -> None:
        while not self.over.wait(LOOK_S):
            with node.guard:
                if not node.is_left_alone:
                    self._look(node)

    def _look(self, node: Node) -> None:
        """Starts a node again if it has ended, or is of no use any more."""
        if node.process is None:
            cause = "was not there"
        elif (code := node.process.poll()) is not None:
            cause = f"ended with {code}"
            if code <= 0 or code == PANICKED:
                self.crashes.append(f"crash: node {node.name} {cause}")
        elif node.is_ready():
            node.unready_since = None
            return
        else:
            now = time.monotonic()
            node.unready_since = node.unready_since or now
            if now - node.unready_since < UNREADY_S:
                return
            cause = "was not ready"
        node.kill()
        if node.begin():
            self.counts[cause] += 1
