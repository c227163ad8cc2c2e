"""The open transaction that holds back a source partition. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from towpath.cluster.metadata import ListedTransaction, ProducerState
from towpath.model.amounts import span
from towpath.model.nouns import ProducerId
from towpath.runtime.clock import readable

HANGING = "HANGING_TRANSACTION"
"""The code of a transaction that no coordinator ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """The open transaction behind which nothing of a source partition is copied yet.

    Attributes:
        first: The offset at which it begins: the last stable offset.
        offsets: Number of offsets from there to the end of the log.
        producer_id: Its producer, -1 if unknown.
        transactional_id: The transactional id, "" if unknown.
        last_timestamp: Time of the producer's last record as it was set, in ms since 1970; -1 if
            unknown.
        limit_ms: The time in ms that it should have taken at most, if it seems to hang; else 0.
    """

    first: int
    offsets: int
    producer_id: int = -1
    transactional_id: str = ""
    last_timestamp: int = -1
    limit_ms: int = 0

    @property
    def hangs(self) -> bool:
        """Whether the transaction seems to be abandoned by its producer."""
        return self.limit_ms > 0

    def sentence(self, topic: str, partition: int) -> str:
        """Return a sentence on the records that the transaction holds back."""
        if self.hangs:
            return self._hanging(topic, partition)
        return (
            f"offsets {self.first} to {self.first + self.offsets - 1} are behind an open"
            f" transaction{self._whose}: consumers with isolation.level=read_committed do not see"
            " them, and they are copied once it ends"
        )

    def _hanging(self, topic: str, partition: int) -> str:
        """Return what to do; without the growing number of offsets, so that it stays the same."""
        place = f"--topic {topic} --partition {partition} --start-offset {self.first}"
        return (
            f"the open transaction{self._whose} at offset {self.first} seems to hang: no"
            f" coordinator lists it to this login as ongoing, and its last record is older than the"
            f" {span(self.limit_ms / 1000)} that transaction.max.timeout.ms allows; nothing behind"
            " it is copied, or seen with isolation.level=read_committed, until"
            f" `kafka-transactions.sh abort {place}` ends it"
        )

    @property
    def _whose(self) -> str:
        if self.producer_id < 0:
            return ""
        known = self.last_timestamp >= 0
        last = f" (last record of {readable(self.last_timestamp)})" if known else ""
        return f" of producer {self.producer_id}{last}"


def open_transaction(
    holder: ProducerState,
    listed: Mapping[ProducerId, ListedTransaction] | None,
    limit_ms: int,
    now: int,
) -> OpenTransaction:
    """Return the transaction that holds back a partition.

    A coordinator ends each of its transactions within `transaction.max.timeout.ms`. So one hangs
    that is older, and that no coordinator has as ongoing. The age is that of the last record, which
    its producer may have set to any value; so it decides nothing alone.

    Args:
        holder: The producer whose transaction begins at the last stable offset.
        listed: The transactions that coordinators list, `None` if they do not.
        limit_ms: The longest time that a transaction may take.
        now: The present time, in ms since 1970.
    """
    its = listed.get(holder.id) if listed is not None else None
    old = 0 <= holder.last_timestamp < now - limit_ms
    ongoing = listed is None or (its is not None and its.is_ongoing)
    return OpenTransaction(
        first=holder.open_since,
        offsets=0,
        producer_id=holder.id,
        transactional_id=its.transactional_id if its is not None else "",
        last_timestamp=holder.last_timestamp,
        limit_ms=limit_ms if old and not ongoing else 0,
    )


def oldest(rows: Iterable[OpenTransaction | None]) -> str:
    """Return a sentence that names the oldest open transaction, "" if none is known by name."""
    named = [each for each in rows if each is not None and each.transactional_id]
    if not named:
        return ""
    first = min(named, key=lambda each: (each.last_timestamp, each.producer_id))
    return (
        "the open transaction with the oldest last record is that of transactional id"
        f" {first.transactional_id} (producer {first.producer_id})"
    )
