"""Other Kafka clusters and programs that keep znodes in the same ensemble."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from towpath.kraft.zookeeper.lock import PATH
from towpath.kraft.zookeeper.reading import BROKERS
from towpath.kraft.zookeeper.session import Forbidden, ZooKeeperSession
from towpath.runtime.deadline import Deadline

_OF_KAFKA = frozenset(
    {"admin", "brokers", "cluster", "config", "consumers", "controller", "controller_epoch",
     "delegation_token", "feature", "isr_change_notification", "kafka-acl", "kafka-acl-changes",
     "kafka-acl-extended", "kafka-acl-extended-changes", "latest_producer_id_block",
     "log_dir_event_notification", "migration", "zookeeper", PATH.strip("/")}
)  # fmt: skip
"""Znodes of a cluster itself (`ZkData.scala` of Kafka 3.9), of ZooKeeper, and our lock."""
_WHAT = "looking who else has znodes"


def neighbours(session: ZooKeeperSession, deadline: Deadline) -> tuple[str, ...]:
    """Return the paths outside the cluster's own, with their likely owners.

    Raises:
        ZooKeeperError: ZooKeeper could not be used.
    """
    return tuple(sorted(_found(session, deadline)))


def _found(session: ZooKeeperSession, deadline: Deadline) -> Iterator[str]:
    steps = [each for each in session.path("/").split("/") if each]
    if not steps:
        yield from _beside(session, "", _OF_KAFKA, deadline)
    for depth, step in enumerate(steps):
        own = {step} if depth else {step, "zookeeper"}
        yield from _beside(session, "".join(f"/{each}" for each in steps[:depth]), own, deadline)


def _beside(
    session: ZooKeeperSession, folder: str, own: Collection[str], deadline: Deadline
) -> Iterator[str]:
    told = _children(session, folder or "/", deadline)
    if isinstance(told, Forbidden):
        yield f"{folder}/* (this login may not list it)"
        return
    for name in told:
        if name not in own:
            yield f"{folder}/{name}{_kind(session, f'{folder}/{name}', deadline)}"


def _kind(session: ZooKeeperSession, path: str, deadline: Deadline) -> str:
    brokers = _children(session, f"{path}{BROKERS}", deadline)
    if isinstance(brokers, Forbidden):
        return " (this login may not look into it)"
    is_kafka = brokers or _children(session, f"{path}/cluster", deadline)
    return f" (a cluster of Kafka, brokers running: {len(brokers)})" if is_kafka else ""


def _children(session: ZooKeeperSession, path: str, deadline: Deadline) -> list[str] | Forbidden:
    told = next(session.read(_WHAT, [path], deadline, children=True, whole=True))[1]
    return told if isinstance(told, list | Forbidden) else []
