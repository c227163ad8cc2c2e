"""What a cluster holds that is taken to KRaft."""

from __future__ import annotations

from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.cimpl import NewTopic
from kafka.protocol.admin import IncrementalAlterConfigsRequest

from tests.support.kafka import PATIENCE, Record, produce
from towpath.cluster.admin import Admin
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.dev.zookeeper_configs import MECHANISM
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.nouns import Side
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

TRAFFIC, GROUP = "traffic", "readers"
USER, PASSWORD = "alice", Secret("alice-secret")
OTHER = "bob"

_TOPIC_CONFIGS: tuple[dict[str, str], ...] = (
    {},
    {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"},
    {"retention.ms": "86400000"},
    {"max.message.bytes": "2000000", "compression.type": "lz4"},
)


def _acl(kind: Resource, name: str, operation: Operation, **others: Any) -> Acl:
    facts: dict[str, Any] = {
        "pattern": Pattern.LITERAL,
        "principal": f"User:{USER}",
        "host": "*",
        "permission": Permission.ALLOW,
    }
    return Acl(resource=kind, name=name, operation=operation, **facts | others)


ACLS = (
    _acl(Resource.TOPIC, TRAFFIC, Operation.READ),
    _acl(Resource.TOPIC, TRAFFIC, Operation.WRITE),
    _acl(Resource.GROUP, GROUP, Operation.READ),
    _acl(Resource.TOPIC, "topic-", Operation.READ, pattern=Pattern.PREFIXED),
    _acl(
        Resource.TOPIC, "topic-3", Operation.READ,
        principal=f"User:{OTHER}", host="10.1.2.3", permission=Permission.DENY,
    ),
    _acl(Resource.CLUSTER, "kafka-cluster", Operation.IDEMPOTENT_WRITE),
    _acl(Resource.TRANSACTIONAL_ID, "t-", Operation.ALL, pattern=Pattern.PREFIXED),
)  # fmt: skip

_ALICE, _APP = Entity(EntityKind.USER, USER), Entity(EntityKind.CLIENT_ID, "app one")
QUOTAS = {
    Quota((_APP,), QuotaKey.PRODUCER_BYTE_RATE): 100_000_000.0,
    Quota((_ALICE,), QuotaKey.CONSUMER_BYTE_RATE): 1_000_000.0,
    Quota((_ALICE, _APP), QuotaKey.REQUEST_PERCENTAGE): 180.5,
    Quota((Entity(EntityKind.USER, None),), QuotaKey.PRODUCER_BYTE_RATE): 50_000_000.0,
    Quota((Entity(EntityKind.IP, "10.9.8.7"),), QuotaKey.CONNECTION_CREATION_RATE): 7.0,
}
"""Of each kind one: a client, a user, both, all other users, an address."""


def seed(cluster: ZooKeeperCluster, *, records: int = 500) -> None:
    """Fill a cluster: 12 topics, 7 ACLs, 2 users, 5 quotas, dynamic configs, and records."""
    admin = AdminClient({"bootstrap.servers": cluster.back_door})
    topics = [
        NewTopic(f"topic-{i}", 1 + i % 3, config=_TOPIC_CONFIGS[i % len(_TOPIC_CONFIGS)])
        for i in range(11)
    ]
    topics.append(NewTopic(TRAFFIC, 3))
    for made in admin.create_topics(topics).values():
        made.result(PATIENCE)
    with Admin(ClusterConfig(bootstrap=tuple(cluster.back_door.split(","))), Side.SOURCE) as own:
        for user, password in ((USER, PASSWORD), (OTHER, Secret("bob-secret"))):
            own.users.set_credential(Credential(user, Mechanism(MECHANISM)), 4096, password)
        for error in own.acls.create(ACLS).failed.values():
            raise error
        for quota, value in QUOTAS.items():
            own.quotas.change(quota, value)
        set_default_config(own, "num.replica.fetchers", "2")
    set_broker_config(cluster, 1, "background.threads", "11")
    values = [Record(b"%d" % i, b"seed %d" % i) for i in range(records)]
    produce(cluster.back_door, "topic-0", values, {"acks": "all"})


def set_default_config(admin: Admin, key: str, value: str) -> None:
    """Change a dynamic config of all brokers, which librdkafka cannot name."""
    change = IncrementalAlterConfigsRequest.AlterConfigsResource
    request = IncrementalAlterConfigsRequest(
        resources=[change(4, "", [change.AlterableConfig(key, 0, value)])], validate_only=False
    )
    said = admin._control.ask_any(request, Deadline.after(PATIENCE), "changing a config")
    assert not said.responses[0].error_code, said


def set_broker_config(cluster: ZooKeeperCluster, broker: int, key: str, value: str) -> None:
    """Change a dynamic config of a broker."""
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.BROKER, str(broker), incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": cluster.back_door})
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE)
