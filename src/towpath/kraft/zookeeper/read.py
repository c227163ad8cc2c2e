"""Reading of all of a cluster's znodes in one pass, into the form of a metadata image.

What is taken and what is left follows Kafka 3.9's own copy (`ZkMigrationClient.scala` and the
clients beside it), so that the images of a healthy migration are equal.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial

from kazoo.exceptions import KazooException
from kazoo.security import Permissions

from towpath.kraft.errors import ZnodeUnknownError
from towpath.kraft.facts.image import ClusterImage, ConfigOf, PartitionImage, TopicImage
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import ControllerZnode, MigrationZnode, Oddity, ZooKeeperSeen
from towpath.kraft.zookeeper import forms
from towpath.kraft.zookeeper.access import read_acls, read_entities, read_tokens
from towpath.kraft.zookeeper.at_start import ends_at
from towpath.kraft.zookeeper.forms import TopicZnode
from towpath.kraft.zookeeper.reading import BROKERS, TOPICS, ZnodeReading, state_path
from towpath.kraft.zookeeper.session import Znode, ZooKeeperSession
from towpath.runtime.deadline import Deadline

_WRITE = Permissions.WRITE
Configs = Mapping[tuple[ConfigOf, str], Mapping[str, str]]


def read(session: ZooKeeperSession, deadline: Deadline) -> ZooKeeperSeen:
    """Read all that ZooKeeper holds of a cluster.

    Raises:
        ZooKeeperAwayError: It did not answer in time.
        ZooKeeperDeniedError: The login is refused, or may not read what decides about steps.
        ZnodeUnknownError: A znode that decides about steps is of no known form, or the path of the
            file holds no cluster.
        ZooKeeperError: It answered with another error.
    """
    # The server that we are connected to may be behind; from here on it is as new as this moment.
    session.call("reading", lambda made: made.sync_async(session.path("/")), deadline)
    begin = session.position
    reading, began = ZnodeReading(session, deadline), time.monotonic()
    cluster_id = _cluster_id(session, reading)
    controller = reading.needed("/controller", _controller)
    epoch = reading.needed("/controller_epoch", _epoch)
    migration = reading.needed("/migration", _migration)
    brokers = _brokers(reading)
    deleting = tuple(reading.children("/admin/delete_topics"))
    topics = _topics(reading, deleting)
    configs = _configs(reading, topics, deleting)
    image = _image(reading, topics, configs)
    return ZooKeeperSeen(
        cluster_id=cluster_id,
        controller=controller,
        controller_epoch=epoch,
        migration=migration,
        brokers=brokers,
        image=image,
        reassigning=_reassigning(reading, topics),
        deleting=deleting,
        awaited=_awaited(topics, reading.children("/config/brokers")),
        odd=tuple(sorted(reading.odd)),
        still=session.position == begin,
        writers=_writers(session, deadline),
        seconds=round(time.monotonic() - began, 3),
    )


def _cluster_id(session: ZooKeeperSession, reading: ZnodeReading) -> str:
    found = reading.needed("/cluster/id", lambda znode: forms.cluster_id(znode.data))
    if found is not None:
        return found
    raise ZnodeUnknownError(
        session.servers,
        f"reading {session.path('/cluster/id')}",
        "there is no such znode, so no cluster",
        "give the path of the cluster in `zookeeper.connect`, as its brokers have it",
    )


def _writers(session: ZooKeeperSession, deadline: Deadline) -> tuple[str, ...]:
    path = session.path(TOPICS)
    try:
        told, _ = session.call("reading", lambda made: made.get_acls_async(path), deadline)
    except KazooException:  # not there yet, or not for our eyes, which is noted elsewhere
        return ()
    return tuple(sorted({f"{acl.id.scheme}:{acl.id.id}" for acl in told if acl.perms & _WRITE}))


def _image(
    reading: ZnodeReading, topics: Mapping[str, TopicImage], configs: Configs
) -> ClusterImage:
    users, quotas = read_entities(reading)
    return ClusterImage(
        topics=topics,
        configs=configs,
        acls=read_acls(reading),
        users=users,
        quotas=quotas,
        tokens=read_tokens(reading),
        producer_ids=_producer_ids(reading),
    )


def _controller(znode: Znode) -> ControllerZnode:
    broker, epoch = forms.controller(znode.data)
    return ControllerZnode(
        id=NodeId(broker), kraft_epoch=epoch, ephemeral=znode.owner != 0, version=znode.version
    )


def _epoch(znode: Znode) -> tuple[int, int]:
    return forms.number(znode.data), znode.version


def _migration(znode: Znode) -> MigrationZnode:
    if not znode.data:
        return MigrationZnode(version=znode.version, is_null=True)
    controller, controller_epoch, offset, offset_epoch = forms.migration(znode.data)
    return MigrationZnode(
        controller=controller,
        controller_epoch=controller_epoch,
        offset=offset,
        offset_epoch=offset_epoch,
        version=znode.version,
    )


def _brokers(reading: ZnodeReading) -> frozenset[NodeId]:
    return frozenset(_node_ids(reading, BROKERS, reading.children(BROKERS)))


def _node_ids(reading: ZnodeReading, path: str, names: Iterable[str]) -> Iterable[NodeId]:
    for name in names:
        if name.isascii() and name.isdigit():
            yield NodeId(int(name))
        else:
            reading.note(
                f"{path}/{name}", Oddity.UNKNOWN_FORM, "its name is not the id of a broker"
            )


def _topics(reading: ZnodeReading, deleting: Iterable[str]) -> Mapping[str, TopicImage]:
    """Topics that are being deleted are not copied; Kafka deletes them from ZooKeeper instead."""
    names = sorted({*reading.children(TOPICS)} - {*deleting})
    told = reading.values({name: f"{TOPICS}/{name}" for name in names}, forms.assignment)
    for name, each in told.items():
        if not each.id:
            reading.note(f"{TOPICS}/{name}", Oddity.NO_TOPIC_ID, "the topic has no id")
    found = _partitions(reading, told)
    return {name: TopicImage(each.id, found[name]) for name, each in told.items()}


def _partitions(
    reading: ZnodeReading, told: Mapping[str, TopicZnode]
) -> Mapping[str, Mapping[int, PartitionImage]]:
    """Return the partitions of each topic that could be read, in their order."""
    paths = {
        (name, index): state_path(name, index)
        for name, each in told.items()
        for index in sorted(each.replicas)
    }
    states = reading.znodes(paths.values())
    found: dict[str, dict[int, PartitionImage]] = {name: {} for name in told}
    for (name, index), path in paths.items():
        make = partial(_partition, reading, told[name], index, path, states.get(path))
        reading.keep(found[name], index, path, make)
    return found


def _partition(
    reading: ZnodeReading, told: TopicZnode, index: int, path: str, state: Znode | None
) -> PartitionImage:
    if state is not None:
        return forms.partition(told, index, state.data, state.version)
    why = "the partition has no state; the copy takes all its replicas as in sync"
    reading.note(path, Oddity.NO_STATE, why)
    return forms.without_state(told, index)


def _configs(
    reading: ZnodeReading, topics: Mapping[str, TopicImage], deleting: Iterable[str]
) -> Configs:
    return {
        **{
            (ConfigOf.TOPIC, name): value
            for name, value in _topic_configs(reading, topics, deleting)
        },
        **{(ConfigOf.BROKER, name): value for name, value in _broker_configs(reading)},
    }


def _topic_configs(
    reading: ZnodeReading, topics: Mapping[str, TopicImage], deleting: Iterable[str]
) -> Iterable[tuple[str, Mapping[str, str]]]:
    """The copy reads the configs of the topics that it copies; what else there is stays behind."""
    names = [name for name in reading.children("/config/topics") if name not in deleting]
    told = reading.values({name: f"/config/topics/{name}" for name in names}, forms.configs)
    for name, value in told.items():
        if (ends := ends_at("/config/topics", name, value)) is not None:
            reading.note(f"/config/topics/{name}", ends.oddity, ends.why)
        if value and name in topics:
            yield name, value
        elif value:
            why = f"configs ({', '.join(sorted(value))}) of a topic that does not exist"
            reading.note(f"/config/topics/{name}", Oddity.ORPHAN_CONFIG, why)


def _broker_configs(reading: ZnodeReading) -> Iterable[tuple[str, Mapping[str, str]]]:
    names = reading.children("/config/brokers")
    own = [name for name in names if name != forms.DEFAULT]
    ids = {str(each) for each in _node_ids(reading, "/config/brokers", own)}
    paths = {
        "" if name == forms.DEFAULT else name: f"/config/brokers/{name}"
        for name in names
        if name == forms.DEFAULT or name in ids
    }
    told = reading.values(paths, forms.configs)
    return ((name, value) for name, value in told.items() if value)


def _producer_ids(reading: ZnodeReading) -> int | None:
    """A cluster whose brokers have not taken any id yet has the znode without a content."""
    path = "/latest_producer_id_block"
    told = reading.values({path: path}, lambda data: forms.next_producer_id(data) if data else None)
    return told.get(path)


def _reassigning(reading: ZnodeReading, topics: Mapping[str, TopicImage]) -> tuple[str, ...]:
    """Brokers since 2.4 keep reassignments with the topic; the old znode may be there still."""
    path = "/admin/reassign_partitions"
    old = reading.values({path: path}, forms.reassigned).get(path, ())
    moving = {
        f"{name}-{index}"
        for name, topic in topics.items()
        for index, each in topic.partitions.items()
        if each.adding or each.removing
    }
    return tuple(sorted({*old, *moving}))


def _awaited(topics: Mapping[str, TopicImage], configured: Iterable[str]) -> frozenset[NodeId]:
    """The copy waits for each broker that it has met, also for one with configs alone."""
    replicas = {
        node
        for topic in topics.values()
        for each in topic.partitions.values()
        for node in (*each.replicas, *each.adding)
    }
    own = {int(name) for name in configured if name.isascii() and name.isdigit()}
    return frozenset(NodeId(each) for each in replicas | own)
