"""The client of a cluster's ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from towpath.kraft.config.file import ZooKeeperConfig
from towpath.kraft.facts.seen import ZooKeeperSeen
from towpath.kraft.facts.servers import EnsembleSeen
from towpath.kraft.facts.states import States
from towpath.kraft.facts.surroundings import ClientsSeen
from towpath.kraft.zookeeper.clients import clients
from towpath.kraft.zookeeper.ensemble import ensemble
from towpath.kraft.zookeeper.lock import ClusterLock, Waiting, take
from towpath.kraft.zookeeper.neighbours import neighbours
from towpath.kraft.zookeeper.partition_states import make_states
from towpath.kraft.zookeeper.read import read
from towpath.kraft.zookeeper.session import ZooKeeperSession
from towpath.kraft.zookeeper.versions import raise_versions
from towpath.kraft.zookeeper.write import ReleasedZnodes, raise_epoch, release
from towpath.model.nouns import TopicPartition
from towpath.runtime.deadline import Deadline

OPEN_SECONDS = 20.0
"""How long to try to open a session."""


class ZooKeeper:
    """A session with ZooKeeper, which ends with the `with` block.

    Example:
        >>> with ZooKeeper(config.zookeeper) as zookeeper:  # doctest: +SKIP
        ...     seen = zookeeper.read(Deadline.after(30))
    """

    def __init__(self, config: ZooKeeperConfig) -> None:
        self._config = config
        self._session = ZooKeeperSession(config)

    def __enter__(self) -> Self:
        """Open the session.

        Raises:
            ZooKeeperAwayError: No server answered in time.
            ZooKeeperDeniedError: The login is refused.
        """
        return self.open(Deadline.after(OPEN_SECONDS))

    def open(self, deadline: Deadline) -> Self:
        """Open the session with ZooKeeper."""
        self._session.open(deadline)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the session, which ends the lock as well."""
        self._session.close()

    def read(self, deadline: Deadline) -> ZooKeeperSeen:
        """Read all that ZooKeeper holds of the cluster; see `read.read`."""
        return read(self._session, deadline)

    def ensemble(self, deadline: Deadline) -> EnsembleSeen:
        """Return the states of the file's ZooKeeper servers; see `ensemble.ensemble`."""
        return ensemble(self._session, self._config.tls, deadline)

    def clients(self, deadline: Deadline) -> ClientsSeen:
        """Return the clients connected to each server; see `clients.clients`."""
        return clients(self._session, self._config, deadline)

    def neighbours(self, deadline: Deadline) -> tuple[str, ...]:
        """Return the other clusters and programs in the ensemble; see `neighbours.neighbours`."""
        return neighbours(self._session, deadline)

    def raise_epoch(self, to: int, version: int, deadline: Deadline) -> int:
        """Set `/controller_epoch`, and return its version; see `write.raise_epoch`."""
        return raise_epoch(self._session, to, version, deadline)

    def raise_versions(self, wanted: Mapping[TopicPartition, int], deadline: Deadline) -> int:
        """Raise versions of partition states; return the number of writes. See `raise_versions`."""
        return raise_versions(self._session, wanted, deadline)

    def make_states(self, wanted: States, epoch: int, deadline: Deadline) -> int:
        """Make missing partition states; return how many. See `states.make_states`."""
        return make_states(self._session, wanted, epoch, deadline)

    def release(
        self,
        controller: int | None,
        migration: int | None,
        deadline: Deadline,
        before: Callable[[ReleasedZnodes], None] = lambda _: None,
    ) -> ReleasedZnodes:
        """Delete `/controller` and `/migration` together; see `write.release`."""
        return release(self._session, controller, migration, deadline, before)

    def lock(self, owner: str, deadline: Deadline, waiting: Waiting | None = None) -> ClusterLock:
        """Take the lock of the cluster, or wait for it; see `lock.take`."""
        return take(self._session, owner, deadline, waiting or (lambda _: None))
