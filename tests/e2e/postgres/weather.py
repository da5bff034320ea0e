"""Short disturbances between nodes and the database, beside the faults of all rounds.

Every now and then a connection is lost in the middle of what it carries, or carries it late. No
lease ends by that, but the outcome of appends becomes unknown to the node that sent them.
"""

from __future__ import annotations

import collections
import random
import threading
import time

from node import Node
from proxy import Proxy

# The longest calm, and the longest disturbance, in seconds.
CALM_S = 0.6
HELD_S = 0.25

# What is held back before the connections are lost: to the server, to the client.
HELD = {"nothing": (False, False), "requests": (True, False), "replies": (False, True)}

# The share of disturbances after which what was held back still arrives.
LATE = 0.3


class Weather:
    """A thread that disturbs one node after another, except those that a fault has."""

    def __init__(self, nodes: list[Node], proxies: dict[str, Proxy], seed: int) -> None:
        self.nodes, self.proxies = nodes, proxies
        self.random = random.Random(seed)
        self.counts: collections.Counter[str] = collections.Counter()
        """The number of disturbances, by what was held back."""
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def close(self) -> None:
        """Ends the disturbances."""
        self.over.set()
        self.thread.join()

    def _run(self) -> None:
        while not self.over.wait(self.random.uniform(0, CALM_S)):
            node = self.random.choice(self.nodes)
            with node.guard:
                if not node.is_left_alone:
                    self._disturb(self.proxies[node.name])

    def _disturb(self, proxy: Proxy) -> None:
        name = self.random.choice(list(HELD))
        to_server, to_client = HELD[name]
        proxy.hold(to_server=to_server, to_client=to_client)
        time.sleep(self.random.uniform(0, HELD_S))
        if self.random.random() >= LATE:
            proxy.reset()
        proxy.release()
        self.counts[name] += 1
