"""Where a link stands, as values."""

from __future__ import annotations

from towpath.model.nouns import TopicName
from towpath.status.status import PartitionStatus, State

ORDERS = TopicName("orders")


ROW = PartitionStatus(
    ORDERS, 0, ORDERS, State.BEHIND, "identical", "", 7, 10, 10, 5, 1.0, 10, 100, (), ""
)
