"""Moves, one after the other on one pair of clusters, with trouble in the middle of each."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.clients.moving import PARTITIONS
from tests.support.clients.played_rounds import FAILED, Round, keep
from tests.support.clients.troubled import PATIENCE, Clients, Scene, TransactionalClients
from tests.support.clients.troubles import Trouble
from tests.support.kafka import wait_until
from tests.support.links import end
from tests.support.program import Program
from towpath.dev.broker import LocalCluster


class Move(NamedTuple):
    """A command that moves topics, and what it says once there is nothing left to move."""

    command: str
    done: str
    over: str


THERE = Move("promote", "promoted", "refused:PROMOTE_NOTHING")
BACK = Move("revert", "reverted", "refused:REVERT_NOTHING")


def played(
    scene: Scene,
    topics: Iterator[str],
    dice: random.Random,
    trouble: Trouble,
    *,
    seed: int = 0,
    number: int = 0,
) -> Round:
    """Play one round; return what happened in it, and keep it where `TOWPATH_ROUNDS` names a file.

    Args:
        scene: Where.
        topics: Gives topics that the run has found.
        dice: Draws the kinds of clients, and whether they go back in the end.
        trouble: What happens.
        seed: What rounds are drawn from.
        number: Which round of them it is.
    """
    begun, move = time.monotonic(), BACK if dice.random() < 0.3 else THERE
    clients: Clients | TransactionalClients
    if dice.random() < 0.25:
        clients = TransactionalClients(scene, next(topics), next(topics), dice)
    else:
        clients = Clients(scene, next(topics), dice)
    states = [FAILED]
    try:
        clients.begin()
        if move == BACK:
            _come(scene, clients)
        states = _moved(scene, clients, move, trouble)
    except AssertionError as error:
        what = f"{move.command}: {trouble} with {clients.kind}"
        raise AssertionError(f"{what}: {error}\nLedgers: {scene.kept_ledgers()}") from error
    finally:
        trouble.mend(scene)
        clients.close()
        scene.end_back()
        told = Round(
            seed,
            number,
            len(scene.link.source.addresses),
            move.command,
            str(trouble),
            clients.kind,
            " ".join(states),
            round(time.monotonic() - begun, 1),
            round(os.getloadavg()[0], 1),
        )
        if kept := os.environ.get("TOWPATH_ROUNDS"):
            keep(Path(kept), told)
    return told


def _come(scene: Scene, clients: Clients | TransactionalClients) -> None:
    """Move topics that shall go back, and copy back what clients write since."""
    _done(scene, _asked(scene, clients, THERE), clients, THERE)
    clients.go_on()
    scene.turn_round()
    names = clients.topics.split(",")
    ends = sum(sum(_ends(scene.link.source, each)) for each in names)
    clients.go_on()
    wait_until(
        lambda: sum(sum(_ends(scene.link.source, each)) for each in names) > ends,
        "the run copies back",
        PATIENCE,
    )


def _moved(
    scene: Scene, clients: Clients | TransactionalClients, move: Move, trouble: Trouble
) -> list[str]:
    """Move topics with trouble in the middle; return the outcomes."""
    left, there = scene.link.source, scene.link.target
    if move == BACK:
        left, there = there, left
    names = clients.topics.split(",")
    asked = _asked(scene, clients, move)
    trouble.happen(scene, asked, names)
    states = _done(scene, asked, clients, move)
    trouble.mend(scene)
    ends = [_ends(left, each) for each in names]
    clients.go_on()
    clients.end(there.bootstrap)
    assert [_ends(left, each) for each in names] == ends, "nothing came late"
    return states


def _asked(scene: Scene, clients: Clients | TransactionalClients, move: Move) -> Program:
    return scene.link.start(move.command, "--topics", clients.topics, "-o", "json")


def _ends(cluster: LocalCluster, topic: str) -> list[int]:
    """Return where the topic ends; a new leader may not tell at once."""
    ends = [-1]

    def are_told() -> bool:
        ends[:] = [end(cluster, topic, number) for number in range(PARTITIONS)]
        return min(ends) >= 0

    wait_until(are_told, f"a cluster tells where {topic} ends", PATIENCE)
    return ends


def _done(
    scene: Scene, asked: Program, clients: Clients | TransactionalClients, move: Move
) -> list[str]:
    """Wait for a move, and ask again until the topics have moved; return the outcomes.

    Where it was undone, clients go on as if nothing had been asked for.
    """
    topics = clients.topics
    states, patience = list[str](), time.monotonic() + PATIENCE
    asked.wait(150)
    said = asked.out.read_text()
    while True:
        told = _outcome(said, move)
        states.append(told)
        if told in {move.done, move.over}:
            return states
        assert time.monotonic() < patience, f"it has moved: {states} {said}\n{scene.said}"
        scene.go_on()
        if told.startswith("undone"):
            clients.go_on()
        elif told.startswith("refused"):
            time.sleep(1)
        said = scene.here(move.command, str(scene.link.file), "--topics", topics, "-o", "json").out


def _outcome(said: str, move: Move) -> str:
    if not said.strip():
        return "killed"
    told = json.loads(said)
    codes = ",".join(each["code"] for each in told["reasons"])
    return f"{told['state']}:{codes}" if codes and told["state"] != move.done else told["state"]
