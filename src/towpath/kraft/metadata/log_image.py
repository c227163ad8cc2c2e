"""The accumulated state of the metadata log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from towpath.kraft.facts.comparison import unwritable_names
from towpath.kraft.facts.nouns import LogState
from towpath.kraft.facts.seen import CopiedRange, MetadataLogSeen
from towpath.kraft.metadata.log_contents import Contents
from towpath.kraft.metadata.log_nodes import ClusterNodes
from towpath.kraft.metadata.records import Entry, LogBatch
from towpath.kraft.metadata.transactions import MetadataTransactions

Take = Callable[[Any], None]


class LogImage:
    """The contents of the log at an offset, without records of an open transaction.

    Attributes:
        copied: Where the copy of ZooKeeper lies; None before it has ended, and behind a snapshot.
    """

    def __init__(self) -> None:
        self.copied: CopiedRange | None = None
        self._nodes, self._contents = ClusterNodes(), Contents()
        self._transactions = MetadataTransactions()
        self._unknown: Counter[str] = Counter()
        self._takers = _takers(self._nodes, self._contents)

    def apply(self, batch: LogBatch) -> None:
        """Apply the next batch.

        Raises:
            CorruptBatchError: The bytes are no batch of such records.
        """
        for entry in batch.entries():
            for true in self._transactions.take(entry):
                self._apply(true)

    @property
    def is_copied(self) -> bool:
        """Whether the log contains a copy of ZooKeeper, at any offset."""
        return self._nodes.state in (LogState.MIGRATION, LogState.POST_MIGRATION)

    def seen(self, end: int) -> MetadataLogSeen:
        """Return the contents below an offset; later records do not change the returned value."""
        nodes, transactions = self._nodes, self._transactions
        image = self._contents.image()
        return MetadataLogSeen(
            state=nodes.state,
            copying=transactions.copying,
            copied=transactions.copied or self.copied,
            end=end,
            features=dict(nodes.features),
            brokers=dict(nodes.brokers),
            ready=dict(nodes.ready),
            image=image,
            voters=nodes.voters,
            unread=dict(self._unknown + nodes.strange + self._contents.strange),
            unwritable=unwritable_names(image),
            kraft_only=self._contents.kraft_only,
            deleted_users=self._contents.deleted_users,
        )

    def _apply(self, entry: Entry) -> None:
        take = self._takers.get(entry.name)
        if entry.body is None or take is None:
            self._unknown[f"{entry.name} in version {entry.version}"] += 1
        else:
            take(entry.body)


def _nothing(_: Any) -> None:
    """Take a record that changes nothing."""


def _takers(nodes: ClusterNodes, contents: Contents) -> Mapping[str, Take]:
    return {
        "RegisterBrokerRecord": nodes.register_broker,
        "UnregisterBrokerRecord": nodes.unregister_broker,
        "FenceBrokerRecord": nodes.fence,
        "UnfenceBrokerRecord": nodes.unfence,
        "BrokerRegistrationChangeRecord": nodes.change_broker,
        "RegisterControllerRecord": nodes.register_controller,
        "UnregisterControllerRecord": nodes.unregister_controller,
        "FeatureLevelRecord": nodes.feature,
        "ZkMigrationStateRecord": nodes.migration,
        "KRaftVersionRecord": nodes.kraft_version,
        "VotersRecord": nodes.quorum_voters,
        "TopicRecord": contents.topic,
        "PartitionRecord": contents.partition,
        "PartitionChangeRecord": contents.partition_change,
        "RemoveTopicRecord": contents.topic_removal,
        "ConfigRecord": contents.config,
        "AccessControlEntryRecord": contents.acl,
        "RemoveAccessControlEntryRecord": contents.acl_removal,
        "UserScramCredentialRecord": contents.credential,
        "RemoveUserScramCredentialRecord": contents.credential_removal,
        "ClientQuotaRecord": contents.quota,
        "DelegationTokenRecord": contents.token,
        "RemoveDelegationTokenRecord": contents.token_removal,
        "ProducerIdsRecord": contents.producer_ids,
        # It is about eligible leader replicas (KIP-966), and nothing here is.
        "ClearElrRecord": _nothing,
        "NoOpRecord": _nothing,
    }
