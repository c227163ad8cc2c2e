"""A cluster whose topics, ACLs, users and quotas change all the time goes there, back, and on."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.cimpl import NewPartitions, NewTopic

from tests.support.kraft.patients import seed
from tests.support.kraft.quotas import QUOTA_KINDS
from tests.support.kraft.runs import run_whole, tell
from tests.support.kraft.traffic import Traffic
from towpath.cluster.admin import Admin
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.config import load_kraft
from towpath.kraft.run.migration import Migration
from towpath.kraft.standing.alarms import quotas_left, states_not_made
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.errors import TowpathError
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.model.quota import Quota
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.settings import ClusterConfig

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(3000)]
_EVERY = 0.3
"""Seconds between two changes."""
_PATIENCE = 15.0
_REFUSED = 3
_DELETED = 0.1
"""Share of the changes of quotas that delete one."""
_TRIES = 20


class Churn:
    """Changes a cluster until it is told to stop.

    Attributes:
        there: Topics that exist for sure; a change without an answer makes a topic doubtful.
        done: How many changes were answered, by kind.
    """

    def __init__(self, lab: ZooKeeperCluster, rng: Random) -> None:
        self._lab, self._rng, self._over = lab, rng, threading.Event()
        self.there, self._doubtful = set[str](), set[str]()
        self.done, self._made = Counter[str](), 0
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Churn:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(4 * _PATIENCE)

    @property
    def topics(self) -> set[str]:
        """Those that must exist, and not those of which nobody knows."""
        return self.there - self._doubtful

    def _work(self) -> None:
        config = ClusterConfig(bootstrap=tuple(self._lab.back_door.split(",")))
        kinds = (self._create, self._delete, self._grow, self._configure, self._reassign,
                 self._allow, self._enlist, self._limit)  # fmt: skip
        while not self._over.wait(_EVERY):
            kind = self._rng.choice(kinds)
            try:
                with Admin(config, Side.SOURCE) as own:
                    kind(own)
                self.done[kind.__name__] += 1
            except (TowpathError, KafkaException, TimeoutError):
                self.done["refused"] += 1  # while nobody is controller

    @property
    def _admin(self) -> AdminClient:
        """A client that must be kept until its answers have come."""
        return AdminClient({"bootstrap.servers": self._lab.back_door, "log_level": 0})

    def _one(self) -> str | None:
        return self._rng.choice(sorted(self.topics)) if self.topics else None

    def _surely(self, name: str, change: Callable[[AdminClient], object]) -> None:
        self._doubtful.add(name)
        change(self._admin)
        self._doubtful.discard(name)

    def _create(self, _own: Admin) -> None:
        self._made += 1
        name = f"churn-{self._made}"
        topic = NewTopic(name, self._rng.randint(1, 3))
        self._surely(name, lambda it: it.create_topics([topic])[name].result(_PATIENCE))
        self.there.add(name)

    def _delete(self, _own: Admin) -> None:
        if (name := self._one()) is not None and len(self.topics) > 5:
            self._surely(name, lambda it: it.delete_topics([name])[name].result(_PATIENCE))
            self.there.discard(name)

    def _grow(self, _own: Admin) -> None:
        if (name := self._one()) is not None:
            admin = self._admin
            told = admin.list_topics(timeout=_PATIENCE).topics.get(name)
            if told is not None and told.partitions:
                more = [NewPartitions(name, len(told.partitions) + 1)]
                admin.create_partitions(more)[name].result(_PATIENCE)

    def _configure(self, _own: Admin) -> None:
        if (name := self._one()) is not None:
            value, change = str(self._rng.randint(10**7, 10**8)), AlterConfigOpType.SET
            entry = ConfigEntry("retention.ms", value, incremental_operation=change)
            about = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=[entry])
            admin = self._admin
            admin.incremental_alter_configs([about])[about].result(_PATIENCE)

    def _reassign(self, own: Admin) -> None:
        if (name := self._one()) is not None:
            brokers = [*self._lab.brokers]
            self._rng.shuffle(brokers)
            told = own.replicas.assign({TopicPartition(TopicName(name), 0): brokers})
            for error in told.failed.values():
                raise error

    def _allow(self, own: Admin) -> None:
        rng = self._rng
        acl = Acl(
            resource=Resource.TOPIC, name=f"t-{rng.randrange(9)}", pattern=Pattern.LITERAL,
            principal=f"User:u{rng.randrange(9)}", host="*", operation=Operation.READ,
            permission=Permission.ALLOW,
        )  # fmt: skip
        change = own.acls.create if self._rng.random() < 0.6 else own.acls.delete
        for error in change([acl]).failed.values():
            raise error

    def _enlist(self, own: Admin) -> None:
        user = Credential(f"u{self._rng.randrange(9)}", Mechanism.SHA_256)
        own.users.set_credential(user, 4096, Secret("secret"))

    def _limit(self, own: Admin) -> None:
        """Set, change or delete a quota of any kind.

        Few are deleted: Kafka 3.9 leaves most of them in ZooKeeper, so a leader is restarted.
        """
        kind = self._rng.choice(sorted(QUOTA_KINDS))
        make, key = QUOTA_KINDS[kind]
        is_gone = self._rng.random() < _DELETED
        value = None if is_gone else float(self._rng.randint(10**6, 10**9))
        own.quotas.change(Quota(make(self._rng.randrange(2)), key), value)
        self.done[f"{'delete' if is_gone else 'set'} quota of {kind}"] += 1


def test_changes_never_stop_while_it_goes_there_and_back_and_on(
    tmp_path: Path, rng: Random
) -> None:
    with ZooKeeperCluster(2, 1, home=tmp_path) as lab:
        seed(lab)
        with Traffic(lab) as traffic, Churn(lab, rng) as churn:
            for number, command in enumerate(("run", "rollback", "run", "finalize")):
                _bring(lab, command, f"{number}-{command}")
                if command != "finalize":
                    _settled(lab)
            traffic.flowing()
        admin = AdminClient({"bootstrap.servers": lab.back_door})
        listed = set(admin.list_topics(timeout=60).topics)
        sys.stdout.write(f"{churn.done}\n")
        assert churn.topics <= listed, churn.topics - listed
        gone = {f"churn-{n + 1}" for n in range(churn._made)} - churn.there - churn._doubtful
        assert not gone & listed, gone & listed
    tell(lab, told := traffic.result())
    assert told.whole, told


def _bring(lab: ZooKeeperCluster, command: str, name: str) -> None:
    """Run a command until it is done: topics may wait for their deletion when it looks first."""
    said = ""
    for again in range(_TRIES):
        done = run_whole(lab, command, f"{name}-{again}")
        code, said = done.wait(), done.said
        if code != _REFUSED:
            assert code == 0, said
            return
    raise AssertionError(f"{command} was refused {_TRIES} times: {said}")


def _settled(lab: ZooKeeperCluster) -> None:
    """Wait until both stores are equal, if there are two; changes go on meanwhile."""
    end = time.monotonic() + 120
    with Migration(load_kraft(lab.config)) as migration:
        while (compared := (seen := migration.look().seen).comparison) and not compared.equal:
            if quotas_left(seen) or states_not_made(seen):
                return  # which the next command mends
            assert time.monotonic() < end, compared.differences
