"""ZooKeeper and the metadata log of a real migration, compared: equal while healthy, else named.

The migration is done by hand here, so that nothing but the two readers is judged.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from tests.support.kafka import Record, produce, wait_until
from tests.support.kraft import patients, znodes
from towpath.cluster.admin import Admin
from towpath.dev import distribution
from towpath.dev.broker_configs import properties_text
from towpath.dev.process import command
from towpath.dev.zookeeper import VERSION, ZooKeeperCluster
from towpath.dev.zookeeper_configs import ADMIN, FIRST_CONTROLLER, MECHANISM, broker_properties
from towpath.kraft.config import load_kraft
from towpath.kraft.config.file import KraftConfig
from towpath.kraft.facts.comparison import compare, unwritable
from towpath.kraft.facts.image import ImageComparison, ImageKind
from towpath.kraft.facts.nouns import LogState
from towpath.kraft.facts.seen import MetadataLogSeen, ZooKeeperSeen
from towpath.kraft.metadata.log import read_log, read_quorum
from towpath.kraft.zookeeper.client import ZooKeeper
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.nouns import Side
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

pytestmark = [pytest.mark.soak, pytest.mark.broker]

ENCODING = {"password.encoder.secret": "encoder", "delegation.token.secret.key": "tokens"}
STRANGE = "Dvořák@/*<x> %41+"


class Patient:
    """A cluster on its way, with both of its stores."""

    def __init__(self, home: Path) -> None:
        self.cluster = ZooKeeperCluster(2, 1, home=home)
        for node in self.cluster.brokers:
            self._write(node, broker_properties(node, self.cluster.ports, self.cluster.files))

    def __enter__(self) -> Patient:
        self.cluster.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cluster.stop(hard=True)

    @property
    def config(self) -> KraftConfig:
        return load_kraft(self.cluster.config)

    def zookeeper(self) -> ZooKeeperSeen:
        with ZooKeeper(self.config.zookeeper) as made:
            return made.read(Deadline.after(20))

    def log(self) -> MetadataLogSeen:
        deadline = Deadline.after(20)
        return read_log(self.config, read_quorum(self.config, deadline), deadline)

    def compared(self) -> ImageComparison:
        return compare(self.zookeeper().image, self.log().image)

    def equal(self) -> ImageComparison:
        """Wait until both are equal."""
        deadline = Deadline.after(90)
        while not (last := self.compared()).equal:
            assert not deadline.over, last.differences
            time.sleep(0.2)
        return last

    def migrate(self) -> None:
        """Start a controller, and restart each broker in migration mode."""
        seen = self.zookeeper()
        self._write(FIRST_CONTROLLER, self._controller())
        self._format(seen.cluster_id)
        self.start_controller()
        for node in self.cluster.brokers:
            self.cluster.process(node).stop(Deadline.after(30))
            self.cluster.wait_forgotten(node)
            own = broker_properties(node, self.cluster.ports, self.cluster.files)
            self._write(node, own | self._migrating(own))
            self.cluster.process(node).start(self.cluster.command(node))
            self.cluster.wait(node)
        wait_until(lambda: self.log().state is LogState.MIGRATION, "ZooKeeper is copied")

    def start_controller(self) -> None:
        self.cluster.process(FIRST_CONTROLLER).start(self.cluster.command(FIRST_CONTROLLER))
        wait_until(self._leads, "the controller leads")

    def restart_controller(self) -> None:
        self.cluster.process(FIRST_CONTROLLER).stop(Deadline.after(30))
        self.start_controller()

    def _leads(self) -> bool:
        try:
            self.log()
        except Exception:  # noqa: BLE001, it starts
            return False
        return True

    def _migrating(self, own: dict[str, str]) -> dict[str, str]:
        protocols = own["listener.security.protocol.map"]
        port = self.cluster.ports.controllers[0]
        return {
            "zookeeper.metadata.migration.enable": "true",
            "controller.quorum.voters": f"{FIRST_CONTROLLER}@127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": f"{protocols},CONTROLLER:PLAINTEXT",
        }

    def _controller(self) -> dict[str, str]:
        own = broker_properties(1, self.cluster.ports, self.cluster.files)
        kept = "inter.broker.listener.name", "super.users", "zookeeper.connect"
        return {
            **{key: own[key] for key in kept},
            **self._migrating(own),
            "process.roles": "controller",
            "node.id": str(FIRST_CONTROLLER),
            "listeners": f"CONTROLLER://127.0.0.1:{self.cluster.ports.controllers[0]}",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "log.dirs": str(self.cluster.files.data(FIRST_CONTROLLER)[0]),
        }

    def _write(self, node: int, properties: dict[str, str]) -> None:
        path = self.cluster.files.properties(node)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(properties_text(properties | ENCODING))

    def _format(self, cluster_id: str) -> None:
        path = str(self.cluster.files.properties(FIRST_CONTROLLER))
        arguments = ["format", "-t", cluster_id, "-c", path]
        self.run("kafka.tools.StorageTool", arguments, distribution.fetch(VERSION))

    def run(self, main: str, arguments: list[str], jars: Path) -> None:
        line = command(jars, main, arguments, heap="128m", work=self.cluster.home)
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    def token(self) -> None:
        """Make a delegation token, as a user who has logged in."""
        login = self.cluster.home / "admin.properties"
        module = "org.apache.kafka.common.security.scram.ScramLoginModule required"
        word = self.cluster.password.reveal()
        login.write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={MECHANISM}\n"
            f'sasl.jaas.config={module} username="{ADMIN}" password="{word}";\n'
        )
        arguments = ["--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob"]
        where = ["--bootstrap-server", self.cluster.bootstrap, "--command-config", str(login)]
        main = "org.apache.kafka.tools.DelegationTokenCommand"
        self.run(main, [*where, *arguments], distribution.fetch_tools())

    def admin(self) -> Admin:
        return Admin(ClusterConfig(bootstrap=tuple(self.cluster.back_door.split(","))), Side.SOURCE)


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Patient]:
    with Patient(tmp_path_factory.mktemp("patient")) as made:
        patients.seed(made.cluster)
        jaas = f"listener.name.sasl.{MECHANISM.lower()}.sasl.jaas.config"
        login = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        patients.set_broker_config(made.cluster, 1, jaas, login)
        made.token()
        once = {"enable.idempotence": True, "acks": "all"}
        produce(made.cluster.back_door, "topic-1", [Record(b"k", b"v")], once)
        with made.admin() as admin:
            admin.users.set_credential(
                Credential(STRANGE, Mechanism.SHA_512), 4096, Secret("strange")
            )
            user, client = EntityKind.USER, EntityKind.CLIENT_ID
            for entities in (
                (Entity(user, STRANGE),),
                (Entity(user, STRANGE), Entity(client, None)),
                (Entity(user, None), Entity(client, STRANGE)),
                (Entity(client, None),),
                (Entity(EntityKind.IP, None),),
            ):
                key = (
                    QuotaKey.CONNECTION_CREATION_RATE
                    if entities[0].kind is EntityKind.IP
                    else QuotaKey.PRODUCER_BYTE_RATE
                )
                admin.quotas.change(Quota(entities, key), 1e7)
        with OwnClient(made) as client:
            client.create("/config/topics/ghost", znodes.config(**{"retention.ms": "1"}))
        made.migrate()
        yield made


class OwnClient:
    """A client of ZooKeeper of the test's own."""

    def __init__(self, patient: Patient) -> None:
        self._client = KazooClient(patient.cluster.connect)

    def __enter__(self) -> KazooClient:
        self._client.start(20)
        return self._client

    def __exit__(self, *_: object) -> None:
        self._client.stop()
        self._client.close()


def test_a_copy_is_equal_in_all_kinds(patient: Patient) -> None:
    result = patient.equal()
    assert all(result.compared[kind] for kind in ImageKind), result.compared
    again = patient.equal()
    # Leaders may have moved between the two readings: preferred ones are elected after a restart.
    quiet = set(ImageKind) - {ImageKind.PARTITIONS}
    assert {kind: result.digests[kind] for kind in quiet} == {
        kind: again.digests[kind] for kind in quiet
    }


def test_changes_in_dual_write_arrive_in_both(patient: Patient) -> None:
    before = patient.equal()
    with patient.admin() as admin:
        acl = _acl("later")
        assert not admin.acls.create([acl]).failed
        admin.users.set_credential(Credential("dora", Mechanism.SHA_256), 8192, Secret("dora-2"))
        admin.quotas.change(
            Quota((Entity(EntityKind.USER, "dora"),), QuotaKey.REQUEST_PERCENTAGE), 33.25
        )
        patients.set_default_config(admin, "log.cleaner.threads", "2")
    patient.token()
    after = patient.equal()
    changed = {kind for kind in ImageKind if before.digests[kind] != after.digests[kind]}
    assert {
        *(ImageKind.ACLS, ImageKind.USERS, ImageKind.QUOTAS, ImageKind.CONFIGS, ImageKind.TOKENS)
    } <= changed


def test_after_another_election_all_is_equal_but_for_the_versions(patient: Patient) -> None:
    """The controllers write partitions again that have not changed."""
    patient.equal()
    patient.restart_controller()
    with patient.admin() as admin:
        assert not admin.acls.create([_acl("after-election")]).failed
    patient.equal()
    assert _acl("after-election") in patient.zookeeper().image.acls


def test_what_zookeeper_cannot_hold_is_found(patient: Patient) -> None:
    patient.equal()
    stuck = _acl("a/b")
    with patient.admin() as admin:
        assert not admin.acls.create([stuck]).failed
        wait_until(lambda: stuck in patient.log().image.acls, "the log has the ACL")
        time.sleep(1)
        (difference,) = patient.compared().differences
        assert (difference.kind, difference.name) == (ImageKind.ACLS, str(stuck))
        assert (difference.zookeeper, difference.log) == ("", "present")
        assert unwritable(patient.log().image) == (stuck,)
        assert not admin.acls.delete([stuck]).failed
    patient.equal()


PLANTED: dict[str, tuple[str, Callable[[dict], None], set[str]]] = {  # type: ignore[type-arg]
    "topic config": (
        "/config/topics/topic-1",
        lambda it: it["config"].update({"cleanup.policy": "delete", "x.y": "z"}),
        {"topic topic-1: cleanup.policy", "topic topic-1: x.y"},
    ),
    "broker config": (
        "/config/brokers/1",
        lambda it: it["config"].update({"background.threads": "5"}),
        {"broker 1: background.threads"},
    ),
    "password": (
        "/config/brokers/1",
        lambda it: it["config"].pop(f"listener.name.sasl.{MECHANISM.lower()}.sasl.jaas.config"),
        {f"broker 1: listener.name.sasl.{MECHANISM.lower()}.sasl.jaas.config"},
    ),
    "credential": (
        "/config/users/alice",
        lambda it: it["config"].update(
            {
                MECHANISM: it["config"][MECHANISM]
                .replace("iterations=4096", "iterations=4097")
                .replace("salt=", "salt=AAAA")
            }
        ),
        {f"alice ({MECHANISM}): iterations", f"alice ({MECHANISM}): a secret"},
    ),
    "quota": (
        "/config/users/alice",
        lambda it: it["config"].update({"consumer_byte_rate": "5"}),
        {"user alice: consumer_byte_rate"},
    ),
    "acl": (
        "/kafka-acl/Topic/traffic",
        lambda it: it["acls"].pop(),
        set(),
    ),
    "replicas": (
        "/brokers/topics/traffic",
        lambda it: it["partitions"].update({"0": [1, 2, 9]}),
        {"traffic-0: replicas"},
    ),
    "topic id": (
        "/brokers/topics/topic-2",
        lambda it: it.update(topic_id="BBBBBBBBBBBBBBBBBBBBBg"),
        {"topic-2: id"},
    ),
    "leader": (
        "/brokers/topics/traffic/partitions/1/state",
        lambda it: it.update(leader=7, leader_epoch=it["leader_epoch"] + 1, isr=[7]),
        {"traffic-1: leader", "traffic-1: leader epoch", "traffic-1: isr"},
    ),
    "producer ids": (
        "/latest_producer_id_block",
        lambda it: it.update(block_end="999999"),
        {"next producer id"},
    ),
}


@pytest.mark.parametrize("what", PLANTED)
def test_exactly_what_was_planted_is_named(patient: Patient, what: str) -> None:
    path, change, names = PLANTED[what]
    patient.equal()
    with OwnClient(patient) as client:
        kept, _ = client.get(path)
        fields = json.loads(kept)
        change(fields)
        client.set(path, json.dumps(fields).encode())
        try:
            found = patient.compared().differences
        finally:
            client.set(path, kept)
    if names:
        assert {each.name for each in found} == names
    else:
        (only,) = found
        assert only.kind is ImageKind.ACLS
    assert all(each.passing for each in found) == (what == "leader")
    patient.equal()


def test_a_topic_of_one_store_alone_is_named(patient: Patient) -> None:
    patient.equal()
    with OwnClient(patient) as client:
        own = {"partitions": {"0": [1]}, "topic_id": znodes.TOPIC_ID, "version": 3}
        client.create("/brokers/topics/foreign", json.dumps(own).encode())
        try:
            seen = patient.zookeeper()
            found = compare(seen.image, patient.log().image).differences
        finally:
            client.delete("/brokers/topics/foreign", recursive=True)
    assert [(each.kind, each.name) for each in found] == [(ImageKind.TOPICS, "foreign")]
    assert "/brokers/topics/foreign/partitions/0/state" in {each.path for each in seen.odd}


def test_users_that_kafka_deletes_from_zookeeper_are_named(patient: Patient) -> None:
    """Kafka's `ScramDelta.apply` (3.9) forgets a mechanism when the log is loaded.

    It does where a deleted user comes first in the order of a HashMap. What the next leader then
    reconciles deletes the users of that mechanism from ZooKeeper.
    """
    patient.equal()
    with patient.admin() as admin:
        admin.users.delete_credential(Credential("bob", Mechanism(MECHANISM)))
    patient.equal()
    patient.restart_controller()
    wait_until(lambda: not patient.compared().equal, "the new leader has written to ZooKeeper")
    found = patient.compared().differences
    assert {each.kind for each in found} == {ImageKind.USERS}
    assert {each.name for each in found} >= {f"{ADMIN} ({MECHANISM})", f"alice ({MECHANISM})"}
    assert {each.zookeeper for each in found} == {""}


def _acl(name: str) -> Acl:
    return Acl(
        resource=Resource.TOPIC,
        name=name,
        pattern=Pattern.LITERAL,
        principal="User:alice",
        host="*",
        operation=Operation.READ,
        permission=Permission.ALLOW,
    )
