"""Random clusters with topics, ACLs, users and quotas: killed again and again, and then alike."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.here import Here
from tests.support.kafka import create_topic, grow, wait_until
from tests.support.subjects.access_sides import clear
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.mirror.plan.link_plan import build
from towpath.mirror.subjects import SUBJECTS
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.errors import TowpathError
from towpath.model.nouns import Side, TopicName
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.plan.apply import ApplyRequest, apply
from towpath.plan.kinds import Step
from towpath.settings import ClusterConfig, LinkConfig, load

pytestmark = [pytest.mark.broker, pytest.mark.alone]
RETENTIONS = ("-1", "3600000", "86400000")


@dataclass
class World:
    """Two clusters, and what belongs to one user and one prefix of topics on them."""

    rng: random.Random
    name: str
    file: Path
    clusters: tuple[LocalCluster, LocalCluster]
    source: Admin
    target: Admin

    @property
    def config(self) -> LinkConfig:
        return load(self.file)

    def topics(self) -> None:
        """Create random topics, one of them on both sides and otherwise, or let them grow."""
        known = self.source.topics.describe()
        for letter in self.rng.sample("abcdef", 3):
            name = TopicName(f"{self.name}.{letter}")
            if name in known:
                grow(self.clusters[0].back_door, name, len(known[name].partitions) + 1)
                continue
            configs = {"retention.ms": self.rng.choice(RETENTIONS)}
            create_topic(self.clusters[0].back_door, name, self.rng.randint(1, 3), configs)
            if self.rng.random() < 0.3:
                configs = {"retention.ms": self.rng.choice(RETENTIONS), "segment.ms": "700000"}
                create_topic(self.clusters[1].back_door, f"eu.{name}", 1, configs)

    def access(self) -> None:
        """Give and take random ACLs, quotas and passwords, mostly at the source."""
        everybody = {self._acl() for _ in range(5)}
        self.source.acls.create(everybody)
        self.target.acls.create({self._acl()})
        listing = self.source.acls.describe()
        assert listing is not None
        ours = sorted(acl for acl in listing.known if self.name in str(acl))
        self.source.acls.delete(self.rng.sample(ours, min(2, len(ours))))
        for key in self.rng.sample(list(QuotaKey)[:3], 2):
            quota = Quota((Entity(EntityKind.USER, self.name),), key)
            self.source.quotas.change(quota, self.rng.choice([None, 2.0, 1000.0]))
        mechanism = self.rng.choice(list(Mechanism))
        credential = Credential(self.name, mechanism)
        self.source.users.set_credential(credential, self.rng.choice([4096, 8192]), Secret("there"))

    def _acl(self) -> Acl:
        resource = self.rng.choice([Resource.TOPIC, Resource.GROUP, Resource.TRANSACTIONAL_ID])
        return Acl(
            resource=resource,
            name=f"{self.name}.{self.rng.choice('abcdef')}",
            pattern=self.rng.choice(list(Pattern)),
            principal=f"User:{self.name}",
            host=self.rng.choice([EVERY, "10.0.0.1"]),
            operation=self.rng.choice(
                [Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALL]
            ),
            permission=self.rng.choice(list(Permission)),
        )

    def steps(self) -> list[Step]:
        """Return what is left to do, of what this test made."""
        return [step for step in build(self.config).steps if self.name in step.about]

    def die_in_the_middle(self) -> None:
        """Apply in another process, which is killed behind one of the first steps."""
        context = multiprocessing.get_context("fork")
        behind = self.rng.randint(1, 4)
        process = context.Process(target=_killed, args=(self.config, behind))
        process.start()
        process.join(60)
        assert process.exitcode in {-signal.SIGKILL, 0}


def _killed(config: LinkConfig, behind: int) -> None:
    left = iter(range(behind, 0, -1))

    def on_step(_step: Step, _error: TowpathError | None) -> None:
        if next(left) == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    apply(ApplyRequest(config, build(config)), SUBJECTS, on_step, threading.Event())


@pytest.fixture
def world(
    secured_source: LocalCluster,
    secured_target: LocalCluster,
    vault: Vault,
    new_name: Callable[[str], str],
    rng: random.Random,
    tmp_path: Path,
) -> Iterator[World]:
    name = new_name("world") + "-x"  # so that no name begins another's
    password, of_admin = tmp_path / "password", tmp_path / "admin"
    password.write_text("on the target")
    of_admin.write_text(USERS["admin"].reveal())
    login = f"{{mechanism: SCRAM-SHA-512, username: admin, password: 'file:{of_admin}'}}"
    tls = f"{{ca: '{vault.ca}'}}"
    file = tmp_path / "link.yaml"
    file.write_text(
        "".join(
            f"{side}: {{bootstrap: '{cluster.bootstrap}', tls: {tls}, sasl: {login}}}\n"
            for side, cluster in (("source", secured_source), ("target", secured_target))
        )
        + f"link: {name}\n"
        + f"topics: {{include: ['{name}.*'], rename: 'eu.{{topic}}'}}\n"
        + f"access: {{acls: full, quotas: true, users: {{{name}: 'file:{password}'}}}}\n"
        + "prune: true\n"
    )
    clusters = secured_source, secured_target
    doors = [ClusterConfig.model_validate({"bootstrap": each.back_door}) for each in clusters]
    with Admin(doors[0], Side.SOURCE) as source, Admin(doors[1], Side.TARGET) as target:
        yield World(rng, name, file, clusters, source, target)
        for each in (source, target):
            clear(each, name)


def test_whatever_is_there_a_plan_that_was_applied_leaves_nothing_to_do(
    world: World, here: Here
) -> None:
    for _ in "made", "changed":
        world.topics()
        world.access()
        wait_until(lambda: bool(world.steps()), "all is seen")
        for _ in range(3):
            world.die_in_the_middle()
        ended = here("apply", str(world.file), "--yes", "--output", "json")
        assert ended.code == 0, ended.said
        wait_until(lambda: not world.steps(), "nothing is left")
