"""A lock for one orchestrator per cluster: an ephemeral znode of its session."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass

from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from towpath.kraft.errors import ZnodeUnknownError, ZooKeeperHeldError, ZooKeeperLockLostError
from towpath.kraft.zookeeper.session import LostError, Znode, ZooKeeperSession
from towpath.runtime import clock
from towpath.runtime.deadline import Deadline

PATH = "/towpath_kraft_lock"
"""A name that Kafka never reads."""

_PAUSE, _PATIENCE = 0.2, 2.0
_WHAT = "taking the lock of the cluster"

Waiting = Callable[[ZooKeeperHeldError], object]
"""Told who holds the lock, once for each holder."""


@dataclass(frozen=True, slots=True)
class ClusterLock:
    """The held lock of a cluster, which ends with the session or the process."""

    session: ZooKeeperSession
    owner: int

    def require(self, deadline: Deadline) -> None:
        """Raise if the lock is no longer held; to be called before each step.

        Raises:
            ZooKeeperLockLostError: ZooKeeper has ended our session meanwhile.
            ZooKeeperError: ZooKeeper could not be asked.
        """
        znode = self.session.one(_WHAT, PATH, deadline)
        if znode is None or znode.owner != self.owner:
            raise ZooKeeperLockLostError(self.session.path(PATH))

    def release(self, deadline: Deadline) -> None:
        """Release the lock; a lost lock stays with its new holder.

        Raises:
            ZooKeeperError: ZooKeeper could not be asked; the lock ends with the session then.
        """
        znode = self.session.one(_WHAT, PATH, deadline)
        if znode is None or znode.owner != self.owner:
            return
        path = self.session.path(PATH)
        try:
            self.session.call(_WHAT, lambda made: made.delete_async(path, znode.version), deadline)
        except NoNodeError:
            return
        except KazooException as error:
            raise self.session.error("giving the lock away", error) from None


def take(
    session: ZooKeeperSession, owner: str, deadline: Deadline, waiting: Waiting
) -> ClusterLock:
    """Take the lock of a cluster, waiting for its present holder.

    Args:
        session: An open session.
        owner: Who takes it, for people: command, user, host, process.
        deadline: When to give up.
        waiting: Called with who holds it.

    Raises:
        ZooKeeperHeldError: Another process holds it, and did not give it away in time.
        ZooKeeperError: ZooKeeper could not be used.
    """
    told: ZooKeeperHeldError | None = None
    while True:
        # The last look must not fail for lack of time: it tells who holds the lock.
        patient = Deadline.after(max(deadline.left(), _PATIENCE))
        _try(session, owner, patient)
        znode = session.one(_WHAT, PATH, patient)
        if znode is not None and znode.owner == session.id:
            return ClusterLock(session, znode.owner)
        if znode is not None:
            held = _held(session, znode)
            if str(told) != str(held):
                waiting(held)
            told = held
        if deadline.over:
            raise told or session.away(_WHAT)
        threading.Event().wait(min(_PAUSE, deadline.left()))


def _try(session: ZooKeeperSession, owner: str, deadline: Deadline) -> None:
    """Try to make the znode; whoever looks at it then sees whose it is."""
    data = json.dumps({"version": 1, "owner": owner, "since": clock.now_ms()}).encode()
    acl = [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE] if session.logged_in else OPEN_ACL_UNSAFE
    path = session.path(PATH)
    try:
        session.once(
            _WHAT, lambda made: made.create_async(path, data, acl, ephemeral=True), deadline
        )
    except (LostError, NodeExistsError):
        return
    except NoNodeError:
        why = f"there is no path {session.path('/')}"
        advice = "give the path of the cluster in `zookeeper.connect`, as its brokers have it"
        raise ZnodeUnknownError(session.servers, _WHAT, why, advice) from None
    except KazooException as error:
        raise session.error(_WHAT, error) from None


def _held(session: ZooKeeperSession, znode: Znode) -> ZooKeeperHeldError:
    owner, since = "another process", "an unknown time"
    try:
        fields = json.loads(znode.data or b"")
        owner, since = str(fields["owner"]), clock.readable(fields["since"])
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        pass  # somebody else's znode under our name; it is held all the same
    return ZooKeeperHeldError(session.path(PATH), owner, since)
