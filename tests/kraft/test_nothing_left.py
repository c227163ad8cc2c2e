"""Nothing of ours stays in the patient: in ZooKeeper, in Kafka, on hosts; back, and at the end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kafka import wait_until
from tests.support.kraft.ensembles import znodes, zookeeper
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import arguments
from towpath.cluster.admin import Admin
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.config import load_kraft
from towpath.kraft.facts.comparison import compare
from towpath.kraft.facts.image import ClusterImage
from towpath.kraft.files.configs import KEPT
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig
from towpath.settings.java_properties import read_properties

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(1200)]

_OURS = "towpath"
_PASSING = re.compile(
    r"/(?:config/changes|kafka-acl-changes|kafka-acl-extended-changes|isr_change_notification"
    r"|log_dir_event_notification)/.+"
)
"""Znodes by which Kafka tells brokers of changes, and which it deletes later."""
_BY_KAFKA = re.compile(
    r"\d+\.(?:log|index|timeindex|snapshot)|leader-epoch-checkpoint|partition\.metadata"
    r"|[a-z-]+-offset-checkpoint|meta\.properties|\.kafka_cleanshutdown|\.lock"
    r"|__consumer_offsets-\d+"
)
"""Files and folders that a broker makes in its log directories while it runs."""

_DELETED = 180.0
"""Seconds; Kafka removes the files of a deleted topic a minute later (`file.delete.delay.ms`)."""


@dataclass(frozen=True)
class Listed:
    """All that there is."""

    znodes: frozenset[str]
    image: ClusterImage
    topics: frozenset[str]
    files: frozenset[str]
    """Of the brokers' hosts."""


def listed(lab: ZooKeeperCluster) -> Listed:
    with zookeeper(load_kraft(lab.config).zookeeper) as session:
        image = session.read(Deadline.after(30)).image
    with Admin(ClusterConfig(bootstrap=tuple(lab.back_door.split(","))), "cluster") as admin:
        topics = frozenset(map(str, admin.topics.describe()))
    paths = (each for each in znodes(lab.connect) if not _PASSING.fullmatch(each))
    return Listed(frozenset(paths), image, topics, frozenset(map(str, _files(lab))))


def _files(lab: ZooKeeperCluster) -> list[Path]:
    etc = lab.files.properties(lab.brokers[0]).parent
    controllers = {lab.files.properties(each) for each in lab.controllers}
    found = [each for each in etc.iterdir() if each not in controllers]
    for broker in lab.brokers:
        for folder in lab.files.data(broker):
            found += [folder, *folder.rglob("*")]
    return found


def test_nothing_is_left_there_and_back_and_behind_the_end(tmp_path: Path, here: Here) -> None:
    with ZooKeeperCluster(1, 1, home=tmp_path) as lab:
        seed(lab)
        file = lab.files.properties(1)
        before, written = listed(lab), file.read_bytes()
        for command in "run", "rollback":
            ended = here(*arguments(lab, command))
            assert ended.code == 0, ended.said
        back = listed(lab)
        assert back.znodes == before.znodes
        assert all(each.passing for each in compare(before.image, back.image).differences)
        assert back.topics == before.topics
        wait_until(lambda: not new_files(before, listed(lab)), "Kafka deleted the probe", _DELETED)
        assert read_properties(file.read_bytes()) == read_properties(written)
        assert sorted(file.read_bytes().splitlines()) == sorted(written.splitlines())
        controller = lab.files.data(lab.controllers[0])[0]
        assert list(controller.iterdir()) == []
        for command in "run", "finalize":
            ended = here(*arguments(lab, command))
            assert ended.code == 0, ended.said
        after = listed(lab)
        assert after.topics == before.topics
        assert not [each for each in after.znodes if _OURS in each]
        log = lab.files.data(1)[0] / "__cluster_metadata-0"
        wait_until(
            lambda: all(each.startswith(str(log)) for each in new_files(before, listed(lab))),
            "Kafka deleted the probes",
            _DELETED,
        )
        ours = [key for key in read_properties(file.read_bytes()) if _OURS in key]
        assert all(key.startswith(KEPT) for key in ours), "these are told by `finalize`"


def new_files(before: Listed, after: Listed) -> list[str]:
    found = sorted(after.files - before.files)
    return [each for each in found if not _BY_KAFKA.fullmatch(Path(each).name)]
