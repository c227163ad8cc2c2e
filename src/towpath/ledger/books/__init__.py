"""What the entries of the ledger come to: of one source partition, of one link."""

from towpath.ledger.books.link import LinkBooks
from towpath.ledger.books.partition import PartitionBooks

__all__ = ["LinkBooks", "PartitionBooks"]
