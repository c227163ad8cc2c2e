"""The state that ledger entries add up to, for one source partition and for one link."""

from towpath.ledger.books.link import LinkBooks
from towpath.ledger.books.partition import PartitionBooks

__all__ = ["LinkBooks", "PartitionBooks"]
