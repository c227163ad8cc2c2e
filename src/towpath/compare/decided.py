"""The decisions about schema ids, read from the ledger on first use."""

from __future__ import annotations

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.books.id_table import IdTables
from towpath.ledger.books.ids import IdBooks
from towpath.ledger.entries import DecidedIds, Unreadable
from towpath.ledger.ledger import Ledger
from towpath.model.changes import RecordChange
from towpath.model.nouns import LinkName, TopicName
from towpath.wire.ids import IdTable


class LedgerIds:
    """Reads all decisions of a link on first use.

    Args:
        link: The link.
        target: The control plane of the target.
        client: A connection to the target.
    """

    def __init__(self, link: LinkName, target: Admin, client: Client) -> None:
        self._link, self._ledger = link, Ledger(target, client)
        self._tables: IdTables | None = None

    def __call__(self, topic: TopicName, change: RecordChange) -> IdTable:
        """Return what the ids of a source topic became.

        Raises:
            ClusterError: The target could not be reached.
            LedgerError: The ledger cannot be read.
        """
        if change.ids is None:
            return IdTable.of()
        if self._tables is None:
            self._tables = IdTables(decided_ids(self._ledger, self._link))
        return self._tables.of(topic, change.ids)


def decided_ids(ledger: Ledger, link: LinkName) -> IdBooks:
    """Return all decisions about schema ids of a link.

    Raises:
        ClusterError: The target could not be reached.
        LedgerError: The ledger cannot be read.
    """
    books = IdBooks()
    for entry in ledger.read_ids(link):
        if isinstance(entry, Unreadable):
            raise entry.error
        if isinstance(entry, DecidedIds):
            books.take(entry)
    return books
