"""Merging of small chunks of offset maps, and removal of chunks for deleted records."""

from __future__ import annotations

from collections import defaultdict

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.chunks import Incarnation, slim, tidied
from towpath.ledger.entries import Entry, ReadEntry, Removed, Runs, Unreadable
from towpath.ledger.keys import is_abandoned
from towpath.ledger.ledger import Ledger
from towpath.model.nouns import LinkName, ProducerId, TopicName, TopicPartition
from towpath.runtime.clock import now_ms

_PATIENCE = 5.0
"""Seconds to wait for leaders. Partitions without a leader are left to the next call."""


class Tidy:
    """Merges and removes chunks of one link; each call reads only new chunks."""

    def __init__(self, admin: Admin, client: Client, link: LinkName) -> None:
        self._admin, self._client, self._link = admin, client, link
        self._ledger = Ledger(admin, client)
        self._known: dict[Incarnation, dict[str, Runs]] = defaultdict(dict)

    def once(self) -> int:
        """Tidy up once, and return how many chunks were removed.

        Raises:
            ClusterError: The target cannot be read or written.
            LedgerError: An entry of this link cannot be read.
        """
        read_at = now_ms()
        for entry in self._ledger.stream_runs(self._link):
            self._note(entry)
        self._known = defaultdict(
            dict, {of: chunks for of, chunks in self._known.items() if chunks}
        )
        if not self._known:
            return 0  # a link without gaps may have facts about thousands of partitions
        # The facts are read after the runs, so that they name every incarnation that has runs.
        books = Ledger(self._admin, self._client).books(self._link, runs=False)
        known = (books.of(of.tp).opened for of in self._known)
        targets = {opened.target for opened in known if opened is not None}
        floors = self._admin.offsets.earliest(targets, patience=_PATIENCE)
        count = 0
        for of, chunks in list(self._known.items()):
            idle = [chunk for chunk in chunks.values() if is_abandoned(chunk.at, read_at)]
            opened = books.of(of.tp).opened
            if opened is not None and opened.producer_id == of.producer_id:
                made, removed = tidied(of, idle, floors.get(opened.target, 0))
            else:
                made, removed = [], [Removed(Runs.kind, of.link, each.about()) for each in idle]
            self._write(made, removed)
            count += len(removed)
        return count

    def _write(self, made: list[Runs], removed: list[Removed]) -> None:
        """Append the merged chunks, then remove the old ones."""
        entries: list[Entry] = [*made, *removed]
        if entries:
            self._ledger.append(entries)
        for entry in entries:
            self._note(entry)

    def _note(self, entry: ReadEntry) -> None:
        match entry:
            case Unreadable():
                raise entry.error
            case Removed():
                topic, partition, producer, chunk = entry.key
                tp = TopicPartition(TopicName(str(topic)), int(partition))
                of = Incarnation(entry.link, tp, ProducerId(int(producer)))
                self._known[of].pop(str(chunk), None)
            case Runs(chunk=chunk) if chunk:
                of = Incarnation(entry.link, entry.tp, entry.producer_id)
                self._known[of][chunk] = slim(entry)
            case _:
                pass  # runs that older versions wrote stay as they are
