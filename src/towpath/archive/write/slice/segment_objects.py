"""Objects in progress: of one segment, or of several small segments."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

from towpath.archive.format.either_format import write_object
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.spool import Spool
from towpath.archive.format.uploads import Uploads
from towpath.archive.keys import segment_key, shared_key, unique
from towpath.archive.model import STREAMING, BatchMark, PartitionId, Segment, SegmentPlace
from towpath.model.nouns import ProducerId, SegmentFormat, TopicId, TopicName
from towpath.store import StoredObject


class SegmentObject:
    """An object in progress, of one segment or several.

    Args:
        kind: Its format.

    Attributes:
        file: Its content.
    """

    def __init__(self, kind: SegmentFormat) -> None:
        self._spool: Spool | None = None
        self.file = write_object(kind, self._begin)

    def _begin(self) -> Spool:
        self._spool = Spool()
        return self._spool

    def close(self) -> Spool | None:
        """Complete the object; return its bytes, `None` if it has no record."""
        if self.file.close():
            return self._spool
        if self._spool is not None:
            self._spool.close()
        return None

    def drop(self) -> None:
        """Discard the object."""
        self.file.abort()
        if self._spool is not None:
            self._spool.close()


@dataclass(slots=True)
class Made:
    """A complete segment, and its object, whose upload may still be running."""

    footer: SegmentFooter
    object: Future[StoredObject] | None = None
    tail: BatchMark | None = None
    """The last batch that was read for it, or for one before it."""

    def segment(self, kind: SegmentFormat, storage_class: str) -> Segment:
        """Wait for the object's upload, and return the segment.

        Args:
            kind: The format of the object.
            storage_class: Its storage class.

        Raises:
            StoreError: The object could not be written.
        """
        if not self.footer.parts or self.object is None:
            return self.footer.segment(kind, None)
        found = self.object.result()
        place = SegmentPlace(
            key=found.key,
            size=found.size,
            first_row_group=self.footer.first_row_group,
            row_groups=len(self.footer.parts) if kind is SegmentFormat.PARQUET else 0,
            storage_class=storage_class,
            crc=found.crc,
        )
        return self.footer.segment(kind, place)


@dataclass(frozen=True, slots=True)
class WritingTerms:
    """The parameters of writing objects: region, key form, and format.

    Attributes:
        region: The region of their keys.
        spread: Whether keys begin with a hash.
        format: How they hold records.
        left_out: Producer ids whose records are left out, by topic.
        again: Partitions that others had the keys of: topics of the same name, earlier histories.
            Somebody may be about to delete an object with such a key.
    """

    region: str
    spread: bool
    format: SegmentFormat = SegmentFormat.PARQUET
    left_out: Mapping[TopicId, frozenset[ProducerId]] = field(default_factory=dict)
    again: frozenset[PartitionId] = frozenset()

    def key(self, footer: SegmentFooter, attempt: str) -> str:
        """Return the key of the object of one segment."""
        head = footer.head
        if not attempt and PartitionId(head.cluster, head.topic_id, head.partition) in self.again:
            attempt = unique()
        return segment_key(
            self.region,
            head.topic,
            head.partition,
            head.level,
            head.start,
            footer.end,
            suffix=self.format,
            attempt=attempt,
            spread=self.spread,
        )

    def shared(self, topic: TopicName) -> str:
        """Return a new key for an object of several segments."""
        return shared_key(self.region, topic, STREAMING, spread=self.spread)


class SharedObject:
    """An object that small segments of a topic share, uploaded when all are complete.

    Attributes:
        made: Its segments.
        open: Number of ranges that may still add a segment.
    """

    def __init__(self, topic: TopicName, terms: WritingTerms) -> None:
        self._topic, self._terms = topic, terms
        self.object = SegmentObject(terms.format)
        self.made: list[Made] = []
        self.open = 0

    def upload(self, uploads: Uploads) -> None:
        """Upload the object; if it has a single segment, under that segment's own key."""
        spool = self.object.close()
        if spool is None:
            return
        full = [each for each in self.made if each.footer.parts]
        if len(full) == 1:
            future = uploads.put(spool, partial(self._terms.key, full[0].footer))
        else:
            future = uploads.put(spool, lambda _: self._terms.shared(self._topic))
        for each in full:
            each.object = future
