"""Positions of links whose records go through Spark, in a topic on the target.

A task writes the new position of its source partition into the transaction of its records. So both
are there or neither. The topic belongs to one link, as open transactions hold back all readers of
the partition that they write to.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.model.errors import LedgerError
from towpath.model.nouns import POSITIONS, LinkName, TopicId, TopicName, TopicPartition
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline
from towpath.wire import plain
from towpath.wire.aborted import AbortedTransactions
from towpath.wire.header import BatchHeader, split

_FORM = 2
"""Form 1 does not say where reading began, which producers wrote, and by which query."""
_FORMS = (1, _FORM)
_CONFIGS = {
    "cleanup.policy": "compact",
    "segment.bytes": "16777216",
    # The cleaner compacts closed segments only; the first look of a run reads all that is left.
    "segment.ms": "600000",
    "message.timestamp.type": "CreateTime",
}
_FETCH_BYTES = 4 << 20
_WAIT = 0.2
_PATIENCE = 60.0
"""Seconds for a transaction that is about to end."""


@dataclass(frozen=True, slots=True)
class TransformedPosition:
    """The position of a source partition whose records go through Spark, with its counts.

    Attributes:
        topic_id: The id of the source topic.
        end: The source offset behind the last one that was read.
        read: Number of records that were read since the link began.
        written: Number of records that the query made of them.
        lost: Number of source offsets that were deleted before they were read.
        producer_id: The producer id of the transaction.
        last_timestamp: When the position was written, in ms since 1970.
        first: The source offset from which on the link has read; -1 if it is not known.
        bytes: Bytes of the record batches that were written.
        producer_epoch: The epoch of the transaction; each transaction has one of its own.
        earlier: The producer ids of transactions before; brokers change them, if seldom.
        queries: For each query that records went through: the source offset from which on, and
            its digest.
    """

    topic_id: TopicId
    end: int
    read: int = 0
    written: int = 0
    lost: int = 0
    producer_id: int = -1
    last_timestamp: int = -1
    first: int = -1
    bytes: int = 0
    producer_epoch: int = -1
    earlier: tuple[int, ...] = ()
    queries: tuple[tuple[int, str], ...] = ()

    @property
    def dropped(self) -> int:
        """How many fewer records were written than read; 0 if the query makes more of them."""
        return max(0, self.read - self.written)

    def then(
        self, end: int, read: int, written: int, size: int = 0, query: str = ""
    ) -> TransformedPosition:
        """Return the position after another range of offsets.

        Args:
            end: The source offset behind it.
            read: How many records it has.
            written: How many were made of them.
            size: Bytes of the batches of these.
            query: The digest of the query.
        """
        same = bool(self.queries) and self.queries[-1][1] == query
        return replace(
            self,
            end=end,
            read=self.read + read,
            written=self.written + written,
            bytes=self.bytes + size,
            last_timestamp=now_ms(),
            queries=self.queries if same else (*self.queries, (self.end, query)),
        )

    def by(self, producer_id: int, producer_epoch: int) -> TransformedPosition:
        """Return the position as another transaction writes it."""
        new = self.producer_id not in {-1, producer_id}
        earlier = (*self.earlier, self.producer_id) if new else self.earlier
        return replace(
            self, producer_id=producer_id, producer_epoch=producer_epoch, earlier=earlier
        )

    @property
    def query_texts(self) -> frozenset[str]:
        """The digests of the texts of all queries, without the numbers of target partitions."""
        return frozenset(digest.partition("/")[0] for _, digest in self.queries)

    def since(self, query: str) -> int:
        """Return the source offset from which on records went through a query; -1 for none."""
        first, last = self.queries[-1] if self.queries else (-1, "")
        return first if last == query else -1


def positions_topic(link: LinkName) -> TopicName:
    """Return the topic with the positions of a link."""
    return TopicName(f"{POSITIONS}.{link}")


def transactional_id(link: LinkName, tp: TopicPartition) -> str:
    """Return the transactional id under which the records of a source partition are written."""
    return f"towpath.{link}.:transform:{tp}"


def encode(tp: TopicPartition, position: TransformedPosition) -> plain.Record:
    """Return the record of a position."""
    key = json.dumps([tp.topic, tp.partition]).encode()
    value = json.dumps({"form": _FORM, **asdict(position)}).encode()
    return plain.Record(key, value, timestamp=now_ms())


def decode(record: plain.Record) -> tuple[TopicPartition, TransformedPosition]:
    """Return the position in a record.

    Raises:
        LedgerError: A newer version has written it, or it is no position.
    """
    try:
        topic, partition = json.loads(record.key or b"")
        told = json.loads(record.value or b"")
        if told.pop("form") not in _FORMS:
            raise LedgerError(
                f"target: the position of {topic}-{partition} was written by a newer version of"
                " Towpath; use that version"
            )
        told["earlier"] = tuple(told.get("earlier", ()))
        told["queries"] = tuple((first, query) for first, query in told.get("queries", ()))
        return TopicPartition(TopicName(topic), partition), TransformedPosition(**told)
    except (ValueError, TypeError, KeyError, AttributeError):
        text = f"target: the record at offset {record.offset} is no position; who wrote it?"
        raise LedgerError(text) from None


class PositionsTopic:
    """Reads the positions of a link; what was read already is not read again.

    Args:
        admin: The target.
        client: A client of the target for this object alone.
        link: The link.
    """

    def __init__(self, admin: Admin, client: Client, link: LinkName) -> None:
        self._admin, self._client = admin, client
        self.tp = TopicPartition(positions_topic(link), 0)
        self._at = 0
        self._known: dict[TopicPartition, TransformedPosition] = {}

    def exists(self) -> bool:
        """Return whether the link has ever written transformed records."""
        return self._admin.topics.find(self.tp.topic) is not None

    def create(self) -> None:
        """Create the topic, unless it exists."""
        self._admin.topics.create_small(self.tp.topic, _CONFIGS)

    def read(self) -> dict[TopicPartition, TransformedPosition]:
        """Return the positions of all partitions, as of now.

        Waits for transactions that were open when it was called, as those behind them would be
        missed else.

        Raises:
            LedgerError: A transaction stays open, or a record is no position.
        """
        end = self._admin.offsets.latest([self.tp]).sure(self.tp)
        until = Deadline.after(_PATIENCE)
        while self._at < end:
            before = self._at
            self._take()
            if self._at > before:
                until = Deadline.after(_PATIENCE)
            elif until.over:
                raise LedgerError(
                    f"target: a transaction in topic {self.tp.topic} stays open; is another run of"
                    " this link alive?"
                )
        return dict(self._known)

    def seen(self) -> dict[TopicPartition, TransformedPosition]:
        """Return the positions without waiting for open transactions, for a look at the link."""
        if not self.exists():
            return {}
        end = self._admin.offsets.latest([self.tp], committed=True).sure(self.tp)
        while self._at < end:
            before = self._at
            self._take()
            if self._at == before:
                break
        return dict(self._known)

    def _take(self) -> None:
        chunk = self._client.fetch(
            self.tp, self._at, max_bytes=_FETCH_BYTES, wait=_WAIT, committed=True
        )
        aborted = AbortedTransactions(chunk.said.aborted)
        for batch in split(chunk.batches):
            header = BatchHeader.read(batch)
            last = header.base_offset + header.last_offset_delta
            if not aborted.void(last, header.attributes, header.producer_id):
                self._known.update(map(decode, plain.decode(batch)))
            self._at = max(self._at, last + 1)
