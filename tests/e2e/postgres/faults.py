"""The faults of a round: each strikes at a random moment of the load, and ends again."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import signal
import time
from collections.abc import Callable

from database import Pair
from history import Client
from load import answer, make_call, open_session, wait_for
from node import LEASE_S, Node
from proxy import Proxy

# The time from the loss of a node to the approval, and to the end of a call, at another one. A run
# takes up to 0.3 s.
TAKEOVER_S = 5.0
RUN_S = 0.3

# The longest time for which the other end of a fault is kept waiting, in seconds.
LONGER_S = 1.0

# The time for which nodes hear nothing of the database. They keep their leases.
UNHEARD_S = 1.4

# How much shorter than a lease a fault may be that is about as long, in seconds.
SHORTER_S = 1.0

# The longest time in which the old primary of a promotion still has its clients, in seconds.
BOTH_S = 1.0


@dataclasses.dataclass
class Scene:
    """All that faults act on."""

    nodes: list[Node]
    proxies: dict[str, Proxy]
    """Each between the node of this name and the database."""
    pair: Pair
    client: Client
    random: random.Random
    takeovers: list[float] = dataclasses.field(default_factory=list)


def lost(scene: Scene, lose: Callable[[Node], None], heal: Callable[[Node], None]) -> None:
    """Loses a node that has a call of an approver and one that runs, and measures the takeover."""
    victim = scene.random.choice(scene.nodes)
    others = [it for it in scene.nodes if it is not victim]
    gated = open_session(scene.client, [victim])
    running = open_session(scene.client, [victim])
    assert gated, "no session could be opened"
    assert running, "no session could be opened"
    asked = make_call(scene.client, gated, "sign", [victim])
    called = make_call(scene.client, running, "pack", [victim])
    assert asked, "no call could be made"
    assert called, "no call could be made"
    waiting = pending(scene.client, gated, others)
    with victim.guard:
        victim.is_left_alone = True
        begun = time.monotonic()
        lose(victim)
    answer(scene.client, waiting, {"confirmed": True}, others)
    scene.takeovers.append(time.monotonic() - begun)
    until_end(scene.client, running, called, others)
    scene.takeovers.append(time.monotonic() - begun - RUN_S)
    until_end(scene.client, gated, asked, others)
    time.sleep(max(0.0, begun + LEASE_S + scene.random.uniform(0, LONGER_S) - time.monotonic()))
    heal(victim)
    victim.is_left_alone = False


def pending(client: Client, session: str, nodes: list[Node]) -> dict[str, object]:
    """Returns the request of a session that waits."""
    while True:
        told = client.ask(client.random.choice(nodes), "GET", f"/v1/pending?session={session}")
        if told is not None and told[0] == 200 and told[1]["items"]:
            return dict(told[1]["items"][0]["confirmation"])


def until_end(client: Client, session: str, call: int, nodes: list[Node]) -> None:
    """Waits until a call has ended."""
    until = time.monotonic() + 4 * TAKEOVER_S
    while not wait_for(client, session, call, 2, nodes):
        assert time.monotonic() < until, f"call {call} of {session} does not end"


def kill(scene: Scene) -> None:
    """Kills a node. Its tools run on."""
    lost(scene, lambda it: it.kill(), lambda _: None)


def stop(scene: Scene) -> None:
    """Stops a node beyond its lease. It goes on with what it believes to own."""

    def send(node: Node, what: signal.Signals) -> None:
        if node.process is not None:
            node.process.send_signal(what)

    lost(scene, lambda it: send(it, signal.SIGSTOP), lambda it: send(it, signal.SIGCONT))


def stop_shortly(scene: Scene) -> None:
    """Stops a node for about as long as its lease."""
    victim = scene.random.choice(scene.nodes)
    with victim.guard:
        if victim.process is not None:
            victim.process.send_signal(signal.SIGSTOP)
            time.sleep(LEASE_S + scene.random.uniform(-SHORTER_S, SHORTER_S / 2))
            victim.process.send_signal(signal.SIGCONT)


def kill_two(scene: Scene) -> None:
    """Kills two nodes at once, and a third one has the work of all."""
    for victim in scene.random.sample(scene.nodes, 2):
        with victim.guard:
            victim.kill()
            victim.is_left_alone = True
    time.sleep(LEASE_S + scene.random.uniform(0, LONGER_S))
    for node in scene.nodes:
        node.is_left_alone = False


def kill_unheard(scene: Scene) -> None:
    """Kills a node, and loses the replies of the database when others take its sessions over."""
    victim, *others = scene.random.sample(scene.nodes, len(scene.nodes))
    running = open_session(scene.client, [victim])
    assert running, "no session could be opened"
    called = make_call(scene.client, running, "pack", [victim])
    assert called, "no call could be made"
    with contextlib.ExitStack() as guards:
        for node in scene.nodes:
            guards.enter_context(node.guard)
        victim.kill()
        victim.is_left_alone = True
        time.sleep(LEASE_S - scene.random.uniform(0.3, 1.0))
        for node in others:
            scene.proxies[node.name].hold(to_server=False, to_client=True)
        time.sleep(UNHEARD_S)
        for node in others:
            scene.proxies[node.name].reset()
            scene.proxies[node.name].release()
    until_end(scene.client, running, called, others)
    victim.is_left_alone = False


def cut(scene: Scene, *, to_server: bool, to_client: bool) -> None:
    """Cuts a node from the database. What was held back arrives later, or is lost."""

    def heal(node: Node) -> None:
        if scene.random.random() < 0.3:
            scene.proxies[node.name].reset()
        scene.proxies[node.name].release()

    def lose(node: Node) -> None:
        scene.proxies[node.name].hold(to_server=to_server, to_client=to_client)

    lost(scene, lose, heal)


def cut_both(scene: Scene) -> None:
    """Cuts a node from the database in both directions."""
    cut(scene, to_server=True, to_client=True)


def cut_to_server(scene: Scene) -> None:
    """Holds back what a node sends to the database."""
    cut(scene, to_server=True, to_client=False)


def cut_to_client(scene: Scene) -> None:
    """Holds back what the database answers: appends happen, and are not acknowledged."""
    cut(scene, to_server=False, to_client=True)


def postmaster(scene: Scene) -> None:
    """Kills the database, and starts it again."""
    scene.pair.primary.kill()
    scene.pair.primary.start()
    scene.pair.primary.wait_for_standby()


def outage(scene: Scene) -> None:
    """Kills the database, and starts it again when all leases may have ended."""
    scene.pair.primary.kill()
    time.sleep(LEASE_S + scene.random.uniform(-SHORTER_S, LONGER_S))
    scene.pair.primary.start()
    scene.pair.primary.wait_for_standby()


def promote(scene: Scene) -> None:
    """Kills the primary, and promotes its standby."""
    scene.pair.primary.kill()
    switch(scene, 0.0)


def promote_beside(scene: Scene) -> None:
    """Promotes the standby beside a primary that lives on, and still has all nodes for a while."""
    switch(scene, BOTH_S)


def switch(scene: Scene, both: float) -> None:
    """Promotes the standby, leads one node after another to it, and makes a new standby."""
    scene.client.history.is_split.set()
    former = scene.pair.promote()
    for node in scene.random.sample(scene.nodes, len(scene.nodes)):
        time.sleep(scene.random.uniform(0, both / len(scene.nodes)))
        scene.proxies[node.name].point(scene.pair.primary.port)
    scene.client.history.is_split.clear()
    scene.pair.follow(former)


# One of each row is played in turn.
FAULTS: list[list[Callable[[Scene], None]]] = [
    [kill, kill_two, kill_unheard],
    [stop, stop_shortly],
    [cut_both, cut_to_server, cut_to_client],
    [postmaster, outage],
    [promote, promote_beside],
]


def fault_of(number: int) -> Callable[[Scene], None]:
    """Returns the fault of a round."""
    row = FAULTS[number % len(FAULTS)]
    return row[number // len(FAULTS) % len(row)]
