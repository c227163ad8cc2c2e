"""The state that ledger entries add up to: of one source partition, and of one link."""

from towpath.ledger.books.link import LinkBooks
from towpath.ledger.books.partition import PartitionBooks

__all__ = ["LinkBooks", "PartitionBooks"]
