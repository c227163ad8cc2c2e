"""kill -9 anywhere in a failback and in the replay of its salvage: each record is there once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.chaos import soak_rounds
from tests.support.copying.quarantine import begin
from tests.support.failback import cut
from tests.support.kafka import Record, consume, produce
from tests.support.mirror import Mirror
from tests.support.program import environment
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side

NewName = Callable[[str], str]
_PARTITIONS = 2
_BOTH, _TAIL, _NEW = 20, 700, 900


def written(word: str, number: int, partition: int) -> list[Record]:
    filler = b"." * 800  # so that several transactions are needed
    return [
        Record(b"k%d" % n, b"%s %d " % (word.encode(), n) + filler, partition=partition)
        for n in range(number)
    ]


def values(bootstrap: str, topic: str, partition: int) -> list[bytes | None]:
    return [each.value for each in consume(bootstrap, topic, (partition,))]


@pytest.mark.broker
@pytest.mark.soak
@pytest.mark.parametrize("wins", Side)
def test_each_record_is_there_once(
    wins: Side,
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    rng: random.Random,
) -> None:
    """What both have is in both topics; what lost is in the salvage topic, and then replayed.

    Some attempts are frozen, and wake up when all is done.
    """
    killed = 0
    while killed < (soak_rounds() or 100) // 2:
        mirror = Mirror(tmp_path, source, target, new_name("kills"))
        mirror.create(_PARTITIONS)
        file = tmp_path / f"{mirror.topic}.yaml"
        for n in range(_PARTITIONS):
            produce(source.bootstrap, mirror.topic, written("both", _BOTH, n))
        begin(mirror)
        cut(mirror, _PARTITIONS)
        for n in range(_PARTITIONS):
            produce(source.bootstrap, mirror.topic, written("tail", _TAIL, n))
            produce(target.bootstrap, mirror.topic, written("new", _NEW, n))
        words = [sys.executable, "-m", "tests.support.failback_victim"]
        done = subprocess.run(
            [*words, str(rng.random()), str(file), str(wins)],
            env=environment(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        told = json.loads(done.stdout.splitlines()[-1])
        killed += told["killed"] + told["frozen"]
        _is_whole(mirror, wins)


def _is_whole(mirror: Mirror, wins: Side) -> None:
    topic, sides = mirror.topic, {Side.SOURCE: mirror.source, Side.TARGET: mirror.target}
    loses = Side.TARGET if wins is Side.SOURCE else Side.SOURCE
    winner, loser = sides[wins].bootstrap, sides[loses].bootstrap
    for n in range(_PARTITIONS):
        both = [each.value for each in written("both", _BOTH, n)]
        own = {
            Side.SOURCE: [each.value for each in written("tail", _TAIL, n)],
            Side.TARGET: [each.value for each in written("new", _NEW, n)],
        }
        assert values(loser, topic, n) == [*both, *own[loses]], "it keeps all that it had"
        held = values(winner, f"{topic}.salvage", n)
        assert [each for each in held if each is not None] == own[loses], "marks have no value"
        assert values(winner, topic, n) == [*both, *own[wins], *own[loses]]
    state = mirror.link_books().state_of()
    assert state is not None
    assert state.wins == str(wins)
    _goes_back(mirror, wins)


def _goes_back(mirror: Mirror, wins: Side) -> None:
    """The link back copies what stays, and what was replayed there, once."""
    back = Mirror(
        mirror.folder, mirror.target, mirror.source, mirror.topic, f"{mirror.topic}-back",
        more="  shared: true\n",
    )  # fmt: skip
    assert [each.error for each in back.catch_up()] == [""] * _PARTITIONS
    for n in range(_PARTITIONS):
        there = values(mirror.source.bootstrap, mirror.topic, n)
        both = [each.value for each in written("both", _BOTH, n)]
        tail = [each.value for each in written("tail", _TAIL, n)]
        new = [each.value for each in written("new", _NEW, n)]
        copied = [*new, *tail] if wins is Side.TARGET else new
        assert there == [*both, *tail, *copied]
