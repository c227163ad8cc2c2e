"""Metadata records about brokers, controllers, features and the migration."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from towpath.kraft.facts.nouns import LogState, NodeId
from towpath.kraft.facts.seen import BrokerRegistration

_FENCED = {1: True, -1: False}
"""What a BrokerRegistrationChangeRecord changes; 0 changes nothing."""
_SHUTTING_DOWN = 1


class ClusterNodes:
    """The nodes of a cluster, updated by each record like Kafka's `ClusterDelta`.

    Attributes:
        state: The newest ZkMigrationState record; None without one.
        brokers: The registered brokers.
        ready: Per registered controller, whether it has the migration's flag.
        features: Finalized levels by name.
        voters: The voters that the log names (KIP-853); None where controllers have them in files.
        strange: How often something was said that does not fit, by what it was.
    """

    def __init__(self) -> None:
        self.state: LogState | None = None
        self.brokers: dict[NodeId, BrokerRegistration] = {}
        self.ready: dict[NodeId, bool] = {}
        self.features: dict[str, int] = {}
        self.voters: tuple[NodeId, ...] | None = None
        self.strange: Counter[str] = Counter()

    def register_broker(self, said: Any) -> None:
        """Apply a RegisterBrokerRecord."""
        node = NodeId(said.broker_id)
        self.brokers[node] = BrokerRegistration(
            id=node,
            epoch=said.broker_epoch,
            migrating=bool(said.is_migrating_zk_broker),
            fenced=said.fenced,
            shutting_down=bool(said.in_controlled_shutdown),
        )

    def unregister_broker(self, said: Any) -> None:
        """Apply an UnregisterBrokerRecord."""
        self.brokers.pop(NodeId(said.broker_id), None)

    def fence(self, said: Any) -> None:
        """Apply a FenceBrokerRecord."""
        self._change(said, said.id, said.epoch, fenced=True)

    def unfence(self, said: Any) -> None:
        """Apply an UnfenceBrokerRecord."""
        self._change(said, said.id, said.epoch, fenced=False)

    def change_broker(self, said: Any) -> None:
        """Apply a BrokerRegistrationChangeRecord."""
        self._change(
            said,
            said.broker_id,
            said.broker_epoch,
            fenced=_FENCED.get(said.fenced),
            shutting_down=said.in_controlled_shutdown == _SHUTTING_DOWN,
        )

    def register_controller(self, said: Any) -> None:
        """Apply a RegisterControllerRecord."""
        self.ready[NodeId(said.controller_id)] = said.zk_migration_ready

    def unregister_controller(self, said: Any) -> None:
        """Apply an UnregisterControllerRecord."""
        self.ready.pop(NodeId(said.controller_id), None)

    def feature(self, said: Any) -> None:
        """Apply a FeatureLevelRecord; level 0 removes a feature."""
        self._level(said.name, said.feature_level)

    def migration(self, said: Any) -> None:
        """Apply a ZkMigrationStateRecord."""
        try:
            self.state = LogState(said.zk_migration_state)
        except ValueError:
            self.strange[f"ZkMigrationState {said.zk_migration_state}"] += 1

    def kraft_version(self, said: Any) -> None:
        """Apply the control record with the quorum's protocol version (KRaftVersion)."""
        self._level("kraft.version", said.k_raft_version)

    def quorum_voters(self, said: Any) -> None:
        """Apply the control record with the voters."""
        self.voters = tuple(sorted(NodeId(each.voter_id) for each in said.voters))

    def _level(self, name: str, level: int) -> None:
        if level:
            self.features[name] = level
        else:
            self.features.pop(name, None)

    def _change(
        self, said: Any, node: int, epoch: int, *, fenced: bool | None, shutting_down: bool = False
    ) -> None:
        old = self.brokers.get(NodeId(node))
        if old is None or old.epoch != epoch:
            self.strange[f"{type(said).__name__} of an unknown broker or epoch"] += 1
            return
        self.brokers[old.id] = replace(
            old,
            fenced=old.fenced if fenced is None else fenced,
            shutting_down=old.shutting_down or shutting_down,
        )
