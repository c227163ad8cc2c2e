"""Changes of quarantined records by the present file."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from towpath.ledger.books import LinkBooks
from towpath.ledger.quarantine.format import QuarantinedRecord
from towpath.model.changes import IdChange, RecordOrigin
from towpath.model.nouns import TopicName, TopicPartition
from towpath.settings import LinkConfig
from towpath.wire import plain
from towpath.wire.change import ChangedRecords, Changer
from towpath.wire.ids import IdTable
from towpath.wire.opened import END, START, open_batch

Ids = Callable[[TopicName, IdChange], IdTable]
"""Returns the decisions about schema ids for the records of a source topic."""


class UnchangedError(Exception):
    """The link cannot change a record now, or would leave it out; `str()` says why."""


class PresentChange:
    """Changes records as the file now says.

    Args:
        config: The file.
        books: What the ledger knows of the link.
        ids: The decisions about schema ids.
    """

    def __init__(self, config: LinkConfig, books: LinkBooks, ids: Ids) -> None:
        self._config, self._books, self._ids = config, books, ids
        self._changer = cache(self._made)

    def apply(self, one: QuarantinedRecord) -> plain.Record:
        """Return a record as it is written to the mirror topic.

        A record that was changed before it was set aside stays as it is.

        Raises:
            UnchangedError: It cannot be changed, or the file drops it.
        """
        if one.change or not self._config.change_of(one.key.topic).digest:
            return one.record
        own = one.record
        source = open_batch(plain.encode([own], base_offset=own.offset))
        changed = self._changer(one.key.tp).apply(source)
        if not changed.kept or changed.unknown or changed.halt is not None:
            raise UnchangedError(_why(changed))
        [row] = changed.opened.batches
        data = changed.opened.data[row[START] : row[END]].tobytes()
        return plain.record_of(data, timestamp=own.timestamp, offset=own.offset)

    def _made(self, tp: TopicPartition) -> Changer:
        change, identity = self._config.change_of(tp.topic), self._books.identity
        if identity is None:
            raise UnchangedError("the ledger does not say which clusters the link joins")
        origin = RecordOrigin(
            link=self._config.link,
            topic=tp.topic,
            partition=tp.partition,
            source_cluster=identity.source_cluster,
            target_cluster=identity.target_cluster,
        )
        ids = self._ids(tp.topic, change.ids) if change.ids is not None else IdTable.of()
        return Changer(change=change, origin=origin, ids=ids)


def _why(changed: ChangedRecords) -> str:
    """Return why a record is not kept."""
    if changed.unknown:
        name = changed.unknown[0].name
        return f"it is not known what becomes of schema id {name} on the target"
    bad = changed.halt or next(iter(changed.aside), None)
    if bad is not None:
        return f"it cannot be changed ({bad.code}): correct `changes` in the file, or the schemas"
    return "a rule of `changes.drop` in the file leaves it out"
