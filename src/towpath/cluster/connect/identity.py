"""The check that addresses keep leading to the same cluster with the same ledger.

An address may lead to another cluster from one moment to the next (DNS, a virtual IP, a proxy), and
that cluster may have topics of the same names. So each new connection and each answer about
metadata is compared with the cluster id that was seen first.
"""

from __future__ import annotations

from towpath.cluster.metadata import TopicInfo
from towpath.model.errors import ClusterReplacedError, LedgerGoneError
from towpath.model.nouns import NO_CLUSTER, NO_TOPIC_ID, ClusterId, TopicId


class ClusterIdentity:
    """The ids of a cluster and of its ledger topic; threads may share it.

    Args:
        side: `source` or `target`, or what else errors call the cluster.
        cluster: The cluster id, `NO_CLUSTER` to take the first that is seen.
        ledger: The topic id of the ledger, `NO_TOPIC_ID` while nobody has said that it is used.
    """

    def __init__(
        self, side: str, cluster: ClusterId = NO_CLUSTER, ledger: TopicId = NO_TOPIC_ID
    ) -> None:
        self.side, self.cluster, self.ledger = side, cluster, ledger

    def require(self, found: str) -> None:
        """Raise if a broker's cluster id differs from the first one; "" is ignored.

        Raises:
            ClusterReplacedError: It is that of another cluster than before.
        """
        if not found:
            return
        if self.cluster == NO_CLUSTER:
            self.cluster = ClusterId(found)
        if found != self.cluster:
            raise ClusterReplacedError(self.side, self.cluster, found)

    def use_ledger(self, topic_id: TopicId) -> None:
        """Record the id of the ledger topic at its first use."""
        if self.ledger == NO_TOPIC_ID:
            self.ledger = topic_id

    def require_ledger(self, found: TopicInfo) -> None:
        """Raise if the ledger topic that a broker reports is gone or was recreated.

        Raises:
            LedgerGoneError: It is another topic than the one that is used.
        """
        if self.ledger != NO_TOPIC_ID and found.id not in {self.ledger, NO_TOPIC_ID}:
            raise LedgerGoneError(again=True)
