"""Raising the versions of partition states, by rewriting each state unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    KazooException,
    NoAuthError,
    NoNodeError,
    RolledBackError,
)

from towpath.kraft.zookeeper.reading import state_path
from towpath.kraft.zookeeper.session import Forbidden, LostError, Znode, ZooKeeperSession
from towpath.kraft.zookeeper.write import CONTROLLER, EPOCH, changed, there
from towpath.model.nouns import TopicPartition
from towpath.runtime.deadline import Deadline

_AT_ONCE = 200
"""Writes of one transaction: together they are far below the 1 MB that a server takes."""

_Write = tuple[str, Znode, int]
"""A path, what it holds, and the version under which it is written."""


def raise_versions(
    session: ZooKeeperSession, wanted: Mapping[TopicPartition, int], deadline: Deadline
) -> int:
    """Rewrite partition states until their versions are at least the wanted ones.

    Each transaction also names the version of `/controller_epoch`, which each election raises: a
    broker that is controller remembers the versions of states, and would be led astray.

    Args:
        session: An open session.
        wanted: The versions, by partition; one that is deleted meanwhile is left out.
        deadline: When to give up.

    Returns:
        The number of writes.

    Raises:
        ZnodeChangedError: A broker is controller.
        ZooKeeperError: ZooKeeper could not be used.
    """
    what = f"raising the versions of {len(wanted)} partition states"
    done = 0
    while True:
        epoch = there(session, what, EPOCH, deadline)
        holder = session.one(what, CONTROLLER, deadline)
        if holder is None or holder.owner:
            raise changed(session, what, "/controller does not belong to a controller of KRaft")
        due = list(_due(session, what, wanted, deadline))
        if not due:
            return done
        for first in range(0, len(due), _AT_ONCE):
            writes = due[first : first + _AT_ONCE]
            if not _write(session, what, epoch, writes, deadline):
                break  # a controller has written one of them meanwhile: all are looked at again
            done += len(writes)


def _due(
    session: ZooKeeperSession, what: str, wanted: Mapping[TopicPartition, int], deadline: Deadline
) -> Iterator[_Write]:
    """Yield a write for each version that is missing."""
    paths = {state_path(tp.topic, tp.partition): to for tp, to in wanted.items()}
    for path, told in session.read(what, list(paths), deadline):
        if isinstance(told, Forbidden):
            raise session.error(f"reading {path}", NoAuthError())
        if isinstance(told, Znode):
            yield from ((path, told, version) for version in range(told.version, paths[path]))


def _write(
    session: ZooKeeperSession,
    what: str,
    epoch: Znode,
    writes: Sequence[_Write],
    deadline: Deadline,
) -> bool:
    """Do writes as one transaction; return whether it is known to be done."""

    def transaction(made: KazooClient) -> Any:
        request = made.transaction()
        request.check(session.path(EPOCH), epoch.version)
        for path, znode, version in writes:
            request.set_data(session.path(path), znode.data or b"", version)
        return request.commit_async()

    try:
        checked, *results = session.once(what, transaction, deadline)
    except LostError:
        return False
    except KazooException as error:
        raise session.error(what, error) from None
    if isinstance(checked, BadVersionError):
        raise changed(session, what, "a controller was elected in this moment")
    failed = [each for each in results if isinstance(each, KazooException)]
    cause = next((each for each in failed if not isinstance(each, RolledBackError)), None)
    if cause is None or isinstance(cause, BadVersionError | NoNodeError):
        return cause is None
    raise session.error(what, cause)
