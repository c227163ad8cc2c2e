"""Nothing is deleted in a cluster that we have not made, whatever it is called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.kraft.ensembles import zookeeper
from towpath.cluster.admin import Admin
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.config import load_kraft
from towpath.kraft.do.probe import Probing, probe
from towpath.kraft.do.waiting import Tell
from towpath.kraft.facts.nouns import PROBES
from towpath.kraft.journal import KraftJournal
from towpath.settings import ClusterConfig

pytestmark = [pytest.mark.soak, pytest.mark.broker]

_THEIRS = (PROBES.rstrip("-"), f"{PROBES}00ff00ff00ff00ff")
"""What a user may have called topics."""


class _KilledError(Exception):
    """Ends a probe where it is, as a kill would."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperCluster]:
    with ZooKeeperCluster(1, 1, home=tmp_path_factory.mktemp("probed")) as made:
        for name in _THEIRS:
            create_topic(made.back_door, name)
            produce(made.back_door, name, [Record(b"k", b"v")], {"acks": "all"})
        yield made


def probed(lab: ZooKeeperCluster, journal: Path, tell: Tell = lambda _: None) -> None:
    with zookeeper(load_kraft(lab.config).zookeeper) as session:
        brokers = ClusterConfig(bootstrap=tuple(lab.back_door.split(",")))
        probe(Probing(brokers, session.read, KraftJournal(journal), "copy", 60, tell))


def topics(lab: ZooKeeperCluster) -> set[str]:
    with Admin(ClusterConfig(bootstrap=tuple(lab.back_door.split(","))), "cluster") as admin:
        return {name for name in admin.topics.describe() if not name.startswith("__")}


def test_topics_of_others_survive_whatever_they_are_called(
    lab: ZooKeeperCluster, tmp_path: Path
) -> None:
    probed(lab, tmp_path)
    assert topics(lab) == set(_THEIRS)
    for name in _THEIRS:
        assert [each.value for each in consume(lab.back_door, name)] == [b"v"]


@pytest.mark.parametrize("where", ["is on every broker", "is gone from every broker"])
def test_what_a_killed_probe_has_left_is_deleted_before_the_next(
    lab: ZooKeeperCluster, tmp_path: Path, where: str
) -> None:
    def kill(text: str) -> None:
        if where in text:
            raise _KilledError

    with pytest.raises(_KilledError):
        probed(lab, tmp_path, kill)
    journal = KraftJournal(tmp_path)
    assert len(journal.probes) == 1
    probed(lab, tmp_path)
    assert topics(lab) == set(_THEIRS)
    assert not journal.probes


def test_a_lost_journal_makes_nothing_ours(lab: ZooKeeperCluster, tmp_path: Path) -> None:
    def kill(text: str) -> None:
        if "is on every broker" in text:
            raise _KilledError

    with pytest.raises(_KilledError):
        probed(lab, tmp_path / "lost", kill)
    [left] = topics(lab) - set(_THEIRS)
    probed(lab, tmp_path / "new")
    assert left in topics(lab)
    probed(lab, tmp_path / "lost")
    assert topics(lab) == set(_THEIRS)
