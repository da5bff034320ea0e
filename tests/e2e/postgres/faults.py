"""The faults of a round: each strikes at a random moment of the load, and ends again."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import random
import signal
import time
from collections.abc import Callable
from concurrent import futures

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
UNHEARD_S = 0.3

# The time within which a node claims the sessions of a lost one, in seconds, and how often the
# database is asked for that.
CLAIMED_S = 3 * LEASE_S
LOOK_S = 0.02

# The calls that are approved at a node when it is stopped, and the threads that make them.
APPROVED = 60
PREPARING = 8

# The node is stopped when less than so many runs have begun, and how often that is looked at, in
# seconds.
BEGUN = 10
BEGUN_S = 0.002

# How much shorter than a lease a fault may be that is about as long, in seconds.
SHORTER_S = 1.0

# The longest time in which the old primary of a promotion still has its clients, in seconds.
BOTH_S = 1.0


# Locks a session.
HEAD = "DO $$BEGIN PERFORM FROM recount.head WHERE session = '{session}' FOR UPDATE; END$$"

# The number of calls of a session that run or are about to.
RUNNING = """\
SELECT count(*) FROM recount.work
WHERE session = '{session}' AND kind IN ('ready', 'running')\
"""

# The number of claims that wait for the locks of a process. Nothing else waits for a session whose
# node is lost.
CLAIMING = """\
SELECT count(*) FROM pg_stat_activity
WHERE pg_blocking_pids(pid) @> ARRAY[{holder}]\
"""


@dataclasses.dataclass
class Scene:
    """All that faults act on."""

    nodes: list[Node]
    proxies: dict[str, Proxy]
    """Each between the node of this name and the database."""
    pair: Pair
    client: Client
    random: random.Random
    witness: pathlib.Path
    takeovers: list[float] = dataclasses.field(default_factory=list)
    continued: list[float] = dataclasses.field(default_factory=list)
    """When nodes that had been stopped went on, in seconds since 1970."""

    def stop(self, node: Node) -> None:
        """Stops the process of a node, if it has one."""
        if node.process is not None:
            node.process.send_signal(signal.SIGSTOP)

    def go_on(self, node: Node) -> None:
        """Lets a stopped process go on."""
        self.continued.append(time.time())
        if node.process is not None:
            node.process.send_signal(signal.SIGCONT)


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
    lost(scene, scene.stop, scene.go_on)


def stop_shortly(scene: Scene) -> None:
    """Stops a node for about as long as its lease."""
    victim = scene.random.choice(scene.nodes)
    with victim.guard:
        scene.stop(victim)
        time.sleep(LEASE_S + scene.random.uniform(-SHORTER_S, SHORTER_S / 2))
        scene.go_on(victim)


def stop_approving(scene: Scene) -> None:
    """Stops a node beyond its lease while approvals of many calls arrive there.

    It goes on with tools that it was about to start, and others have taken the sessions over.
    """
    victim, before = scene.random.choice(scene.nodes), scene.random.randrange(1, BEGUN)
    seeds = [scene.random.getrandbits(32) for _ in range(APPROVED)]
    clients = [Client(scene.nodes, scene.client.history, it) for it in seeds]
    # It waits for the answers that are given.
    with futures.ThreadPoolExecutor(APPROVED) as approving:
        with futures.ThreadPoolExecutor(PREPARING) as preparing:
            waiting = list(preparing.map(lambda it: asked(it, victim), clients))
        with victim.guard:
            victim.is_left_alone = True
            noted = scene.witness.stat().st_size
            for client, request in zip(clients, waiting, strict=True):
                approving.submit(answer, client, request, {"confirmed": True}, [victim])
            while scene.witness.read_bytes()[noted:].count(b"begin") < before:
                time.sleep(BEGUN_S)
            scene.stop(victim)
            time.sleep(LEASE_S + scene.random.uniform(LONGER_S / 2, LONGER_S))
            scene.go_on(victim)
        victim.is_left_alone = False
    with futures.ThreadPoolExecutor(PREPARING) as ending:
        places = [(str(it["session"]), int(str(it["call"]))) for it in waiting]
        ends = ending.map(lambda it, at: until_end(it, at[0], at[1], scene.nodes), clients, places)
        assert len(list(ends)) == APPROVED


def asked(client: Client, node: Node) -> dict[str, object]:
    """Returns the request of a new gated call at a node."""
    session = open_session(client, [node])
    assert session, "no session could be opened"
    assert make_call(client, session, "sign", [node]), "no call could be made"
    return pending(client, session, [node])


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
        # A claim waits for the lock, so that its reply is lost and not the claim.
        with scene.pair.primary.locking(HEAD.format(session=running)) as holder:
            until = time.monotonic() + CLAIMED_S
            while scene.pair.primary.query(CLAIMING.format(holder=holder)) == "0":
                if scene.pair.primary.query(RUNNING.format(session=running)) == "0":
                    # The run was over before the kill, so there is nothing to claim.
                    victim.is_left_alone = False
                    return
                assert time.monotonic() < until, "no node claims the sessions of a lost one"
                time.sleep(LOOK_S)
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
    [kill_unheard, kill, kill_two],
    [stop, stop_shortly],
    [stop_approving],
    [cut_both, cut_to_server, cut_to_client],
    [postmaster, outage],
    [promote, promote_beside],
]


def fault_of(number: int) -> Callable[[Scene], None]:
    """Returns the fault of a round."""
    row = FAULTS[number % len(FAULTS)]
    return row[number // len(FAULTS) % len(row)]
