"""Reading the log of real controllers: all they tell, leaders that die, snapshots, logins."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import tls as tls_of
from tests.support.kafka import Record, create_topic, grow, produce, set_config, wait_until
from tests.support.kraft.quorums import SNAPSHOTS, Quorum, kraft_config
from towpath.cluster.admin import Admin
from towpath.cluster.connect.login import SecurityError
from towpath.kraft.config.file import KraftConfig
from towpath.kraft.facts import digests
from towpath.kraft.facts.image import ConfigOf
from towpath.kraft.facts.nouns import BrokerMode, LogState
from towpath.kraft.facts.seen import MetadataLogSeen
from towpath.kraft.metadata.answers import ask_node
from towpath.kraft.metadata.log import LogReader, read_log, read_quorum
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.nouns import Side, TopicName
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig
from towpath.settings.sections.clusters import PasswordSasl, Tls

Reading = Callable[[KraftConfig], LogReader]

pytestmark = [pytest.mark.soak, pytest.mark.broker]
SOON = 60.0
ALL = Operation.CLUSTER_ACTION, Operation.DESCRIBE


def soon() -> Deadline:
    return Deadline.after(SOON)


def look(reader: LogReader) -> MetadataLogSeen:
    return reader.read(reader.read_quorum(soon()), soon())


def fresh(quorum: Quorum) -> MetadataLogSeen:
    config = quorum.config()
    return read_log(config, read_quorum(config, soon()), soon())


@pytest.fixture
def quorum(tmp_path: Path) -> Iterator[Callable[..., Quorum]]:
    started: list[Quorum] = []

    def start(
        count: int, properties: dict[str, str] | None = None, *, dynamic: bool = False
    ) -> Quorum:
        made = Quorum(count, tmp_path / f"quorum-{len(started)}", properties, dynamic=dynamic)
        started.append(made)
        made.start()
        return made

    yield start
    for each in started:
        each.stop(hard=True)


@pytest.fixture
def reading() -> Iterator[Reading]:
    readers: list[LogReader] = []

    def start(config: KraftConfig) -> LogReader:
        readers.append(LogReader(config))
        return readers[-1]

    yield start
    for each in readers:
        each.close()


def cluster_acl(operation: Operation, user: str = "reader") -> Acl:
    return Acl(
        resource=Resource.CLUSTER,
        name="kafka-cluster",
        pattern=Pattern.LITERAL,
        principal=f"User:{user}",
        host="*",
        operation=operation,
        permission=Permission.ALLOW,
    )


def test_the_log_tells_what_the_brokers_tell(
    quorum: Callable[..., Quorum], reading: Reading
) -> None:
    cluster = quorum(1)
    reader = reading(cluster.config())
    empty = look(reader)
    assert (empty.state, empty.features) == (LogState.NONE, {"metadata.version": 21})
    assert (empty.ready, empty.unread, empty.voters) == ({1: False}, {}, None)
    config = ClusterConfig(bootstrap=cluster.addresses)
    credentials = [Credential("ann", kind) for kind in Mechanism]
    quota = Quota((Entity(EntityKind.USER, "ann"), Entity(EntityKind.CLIENT_ID, None)),
                  QuotaKey.PRODUCER_BYTE_RATE)  # fmt: skip
    with Admin(config, Side.SOURCE) as admin:
        for name in ("kept", "grown", "gone"):
            create_topic(cluster.bootstrap, name, 2)
        set_config(cluster.bootstrap, "kept", "retention.ms", "86400000")
        client = AdminClient({"bootstrap.servers": cluster.bootstrap})
        grow(cluster.bootstrap, "grown", 4)
        produce(
            cluster.bootstrap,
            "kept",
            [Record(None, b"x", partition=0)],
            {"enable.idempotence": True},
        )
        admin.acls.create([cluster_acl(each) for each in ALL])
        admin.acls.delete([cluster_acl(Operation.DESCRIBE)])
        for each in credentials:
            admin.users.set_credential(each, 4096, Secret("pass"))
        admin.users.delete_credential(credentials[0])
        admin.quotas.change(quota, 1e6)
        half_way = look(reader)
        assert "gone" in half_way.image.topics
        client.delete_topics(["gone"])["gone"].result(30)
        seen = look(reader)
        told = admin.topics.describe()
        acls = admin.acls.describe()
        assert acls is not None
        assert seen.image.acls == acls.known
        assert {whose: each.iterations for whose, each in seen.image.users.items()} == (
            admin.users.describe()
        )
    assert seen.image.quotas == {quota.entities: {quota.key: 1e6}}
    assert seen.image.configs == {(ConfigOf.TOPIC, "kept"): {"retention.ms": "86400000"}}
    assert seen.image.producer_ids == 1000
    assert set(seen.image.topics) == set(told) == {"kept", "grown"}
    for name, topic in seen.image.topics.items():
        info = told[TopicName(name)]
        assert topic.id == digests.topic_id(uuid.UUID(info.id))
        assert {
            p: (each.leader, each.replicas, each.leader_epoch)
            for p, each in topic.partitions.items()
        } == {each.partition: (each.leader, each.replicas, each.epoch) for each in info.partitions}
    # A record without content may have come since.
    assert replace(fresh(cluster), end=seen.end) == seen
    assert (reader.begun, seen.unread) == (1, {})


def test_nodes_tell_mode_flag_features_and_release(quorum: Callable[..., Quorum]) -> None:
    cluster = quorum(1)
    login = ClusterConfig(bootstrap=cluster.addresses)
    broker = ask_node(cluster.addresses[0], login, soon())
    controller = ask_node(cluster.controllers[0], login, soon())
    assert (broker.mode, controller.mode) == (BrokerMode.KRAFT, None)
    for each in (broker, controller):
        assert (each.flag, each.software) == (False, "3.9")
        assert each.features["metadata.version"] == 21


def test_a_leader_that_is_killed_is_replaced_while_the_log_grows(
    quorum: Callable[..., Quorum],
    reading: Reading,
) -> None:
    cluster = quorum(3)
    reader, stop = reading(cluster.config()), threading.Event()
    first = reader.read_quorum(soon())
    assert first.voters == (1, 2, 3)
    others = [
        at for node, at in zip((1, 2, 3), cluster.addresses, strict=True) if node != first.leader
    ]
    created: list[str] = []

    def create() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            create_topic(",".join(others), f"t-{number}", 1)
            created.append(f"t-{number}")

    creator = threading.Thread(target=create)
    creator.start()
    try:
        wait_until(lambda: len(created) > 3, "topics are created")
        ends = [reader.read(first, soon()).end]
        cluster.kill9(first.leader)
        after = look(reader)
        ends.append(after.end)
        before = len(created)
        wait_until(lambda: len(created) > before + 3, "topics are created under the new leader")
        sure = set(created)
        seen = look(reader)
        ends.append(seen.end)
    finally:
        stop.set()
        creator.join()
    second = reader.read_quorum(soon())
    assert second.leader != first.leader
    assert second.epoch > first.epoch
    assert ends == sorted(ends)
    assert sure <= set(seen.image.topics)
    assert reader.begun == 1
    # The old quorum still names the dead leader: it is looked up again.
    assert reader.read(first, soon()).image == look(reader).image == fresh(cluster).image
    wait_until(lambda: look(reader).brokers[first.leader].fenced, "the dead broker is fenced")


def test_no_leader_is_a_sentence_that_names_each_controller(
    quorum: Callable[..., Quorum], reading: Reading
) -> None:
    cluster = quorum(3)
    reader = reading(cluster.config())
    leader = reader.read_quorum(soon()).leader
    for node in {1, 2, 3} - {leader}:
        cluster.kill9(node)
    wait_until(lambda: _lost(reader), "the leader resigns")
    with pytest.raises(UnreachableError) as error:
        reader.read_quorum(Deadline.after(1.0))
    text = str(error.value)
    assert text.startswith("controllers: asking for the quorum: no controller leads the quorum")
    assert text.count("nothing listens there") == 2
    assert "NOT_LEADER_OR_FOLLOWER" in text


def _lost(reader: LogReader) -> bool:
    try:
        reader.read_quorum(Deadline.after(0.5))
    except UnreachableError:
        return True
    return False


def test_a_log_that_is_deleted_behind_a_snapshot_is_read_from_it(
    quorum: Callable[..., Quorum],
    reading: Reading,
) -> None:
    cluster = quorum(1, SNAPSHOTS)
    reader = reading(cluster.config())
    look(reader)
    for number in range(40):
        create_topic(cluster.bootstrap, f"t-{number}", 3)
    # The reader stands where the log soon begins no more.
    checkpoints = cluster.home / "broker-1" / "data" / "__cluster_metadata-0"
    wait_until(lambda: len(list(checkpoints.glob("*.checkpoint"))) > 0, "there is a snapshot")
    behind = fresh(cluster)
    assert len(behind.image.topics) == 40
    wait_until(
        lambda: not (checkpoints / f"{0:020}.log").exists(), "the log is deleted", seconds=240
    )
    seen = look(reader)
    assert (seen.image, seen.brokers, seen.features) == (
        behind.image, behind.brokers, behind.features
    )  # fmt: skip
    assert reader.begun == 2
    create_topic(cluster.bootstrap, "later", 1)
    assert "later" in look(reader).image.topics


def test_a_quorum_that_was_formatted_anew_is_another_log(
    quorum: Callable[..., Quorum], reading: Reading
) -> None:
    cluster = quorum(1)
    reader = reading(cluster.config())
    create_topic(cluster.bootstrap, "old", 1)
    assert "old" in look(reader).image.topics
    cluster.stop()
    cluster.wipe()
    cluster.start()
    for number in range(5):
        create_topic(cluster.bootstrap, f"new-{number}", 1)
    seen = look(reader)
    assert set(seen.image.topics) == {f"new-{number}" for number in range(5)}
    assert reader.begun == 2


def test_a_dynamic_quorum_names_its_voters(quorum: Callable[..., Quorum]) -> None:
    cluster = quorum(1, dynamic=True)
    create_topic(cluster.bootstrap, "t", 1)
    seen = fresh(cluster)
    assert (seen.voters, seen.features["kraft.version"]) == ((1,), 1)
    assert set(seen.image.topics) == {"t"}


def test_controllers_that_want_a_login_and_rights(
    quorum: Callable[..., Quorum], reading: Reading, tmp_path: Path
) -> None:
    vault = Vault.make(tmp_path / "vault")
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    users = 'username="admin" password="secret1" user_admin="secret1" user_reader="secret2";'
    prefix = "listener.name.controller"
    cluster = quorum(
        1,
        {
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,"
            "CONTROLLER:SASL_SSL",
            "sasl.mechanism.controller.protocol": "PLAIN",
            f"{prefix}.sasl.enabled.mechanisms": "PLAIN",
            f"{prefix}.plain.sasl.jaas.config": f"{module} {users}",
            **{
                f"{prefix}.{key}": text
                for key, text in tls_of(vault.broker, vault.ca, "none").items()
            },
        },
    )
    tls = Tls.model_validate({"ca": str(vault.ca)})

    def config(user: str, password: str) -> LogReader:
        sasl = PasswordSasl(mechanism="PLAIN", username=user, password=Secret(password))
        return reading(cluster.config(tls, sasl))

    assert look(config("admin", "secret1")).state is LogState.NONE
    reader = config("reader", "secret2")
    with pytest.raises(RefusedError, match="needs the ACL Describe on the cluster"):
        look(reader)
    with Admin(ClusterConfig(bootstrap=cluster.addresses), Side.SOURCE) as admin:
        admin.acls.create([cluster_acl(Operation.DESCRIBE)])
        with pytest.raises(RefusedError, match="needs the ACL ClusterAction on the cluster"):
            look(reader)
        admin.acls.create([cluster_acl(Operation.CLUSTER_ACTION)])
    assert look(reader).image.acls == {cluster_acl(each) for each in ALL}
    with pytest.raises(RefusedError, match="SASL_AUTHENTICATION_FAILED"):
        look(config("reader", "wrong"))
    with pytest.raises(SecurityError, match="add `tls:`"):
        look(reading(cluster.config()))
    with pytest.raises(SecurityError, match="login"):
        look(reading(cluster.config(tls)))
    # What a node is, it tells without a login.
    told = ask_node(cluster.controllers[0], ClusterConfig(bootstrap=("x:1",), tls=tls), soon())
    assert (told.mode, told.software) == (None, "3.9")


def test_a_leader_that_the_file_does_not_name(
    quorum: Callable[..., Quorum], reading: Reading
) -> None:
    cluster = quorum(1)
    reader = reading(kraft_config({7: cluster.controllers[0]}))
    with pytest.raises(
        UnreachableError, match=r"the quorum's leader is node 1.*`controllers.nodes`"
    ):
        look(reader)


def test_a_leader_of_an_epoch_that_is_over_is_not_believed(
    quorum: Callable[..., Quorum], reading: Reading
) -> None:
    reader = reading(quorum(3).config())
    told = reader.read_quorum(soon())
    assert reader.doubt(told, soon()) is None
    ahead = replace(told, epoch=told.epoch + 1)
    assert reader.doubt(ahead, soon()) is None, "others may learn of it in a moment"
    stale = reader.doubt(replace(told, epoch=told.epoch - 1), soon())
    assert stale is not None
    assert f"says that it leads in epoch {told.epoch - 1}" in stale
