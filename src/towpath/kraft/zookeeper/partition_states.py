"""Making states of partitions that controllers of KRaft write without making them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    KazooException,
    NodeExistsError,
    NoNodeError,
    RolledBackError,
)

from towpath.kraft.facts.image import PartitionImage
from towpath.kraft.facts.states import States
from towpath.kraft.zookeeper.reading import TOPICS, state_path
from towpath.kraft.zookeeper.session import LostError, Znode, ZooKeeperSession
from towpath.model.nouns import TopicPartition
from towpath.runtime.deadline import Deadline


def make_states(session: ZooKeeperSession, wanted: States, epoch: int, deadline: Deadline) -> int:
    """Make the states of partitions that have none; one that is there stays as it is.

    Args:
        session: An open session.
        wanted: The states; those of topics that are deleted meanwhile are left out.
        epoch: The epoch of the leading controller, which stands in each state.
        deadline: When to give up.

    Returns:
        The number of states that were made.

    Raises:
        ZooKeeperError: ZooKeeper could not be used.
    """
    what = f"making the states of {len(wanted)} partitions"
    return sum(
        _make(session, what, tp, _encoded(wanted[tp], epoch), deadline) for tp in sorted(wanted)
    )


def _encoded(state: PartitionImage, epoch: int) -> bytes:
    """Return the content of a state (`TopicPartitionStateZNode.encode` of Kafka 3.9)."""
    fields = {
        "version": 1,
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "controller_epoch": epoch,
        "isr": list(state.isr),
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def _make(
    session: ZooKeeperSession, what: str, tp: TopicPartition, data: bytes, deadline: Deadline
) -> bool:
    """Make a state, and the znodes above it, until it is there; return whether it was made."""
    topic, state = f"{TOPICS}/{tp.topic}", state_path(tp.topic, tp.partition)
    above = (f"{topic}/partitions", f"{topic}/partitions/{tp.partition}")
    while (there := session.one(what, topic, deadline)) is not None:
        if session.one(what, state, deadline) is not None:
            return False
        lacking = [path for path in above if session.one(what, path, deadline) is None]
        if _written(session, what, (topic, there), [*lacking, state], data, deadline):
            return True
    return False


def _written(
    session: ZooKeeperSession,
    what: str,
    topic: tuple[str, Znode],
    paths: Sequence[str],
    data: bytes,
    deadline: Deadline,
) -> bool:
    """Make znodes in one transaction, with the access of their topic; the last one has data."""
    path, there = topic
    acls, _ = session.call(what, lambda made: made.get_acls_async(session.path(path)), deadline)

    def transaction(made: KazooClient) -> Any:
        request = made.transaction()
        request.check(session.path(path), there.version)
        for each in paths:
            value = data if each == paths[-1] else b""
            request.create(session.path(each), value, acl=acls)
        return request.commit_async()

    try:
        results = session.once(what, transaction, deadline)
    except LostError:
        return False
    except KazooException as error:
        raise session.error(what, error) from None
    failed = [each for each in results if isinstance(each, KazooException)]
    cause = next((each for each in failed if not isinstance(each, RolledBackError)), None)
    if cause is None or isinstance(cause, BadVersionError | NoNodeError | NodeExistsError):
        return cause is None
    raise session.error(what, cause)
