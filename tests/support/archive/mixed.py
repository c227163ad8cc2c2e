"""Archives in a folder with all that segments can be: shared objects, both formats, gaps alone."""

from __future__ import annotations

import io
import json
import random
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.archive.archives import CLUSTER, WRITER
from tests.support.archive.segments import TINY, buffer
from tests.support.archive.stored import batches_of, old_records
from towpath.archive.config import ArchiveConfig, load_archive
from towpath.archive.format.either_format import write_object
from towpath.archive.format.footer import SegmentFooter, SegmentHead
from towpath.archive.format.parquet_writer import ParquetOptions
from towpath.archive.keys import segment_key, shared_key
from towpath.archive.log import CommitLog
from towpath.archive.log.entries import Draft
from towpath.archive.model import GapKind, PartitionId, Segment, SegmentPlace
from towpath.model.nouns import SegmentFormat, SourceOffset, TopicId, TopicName
from towpath.store import Store
from towpath.wire.plain import Record

REGION = "eu"
TOPIC = TopicName("orders")
ID = TopicId("id-orders")


def partition(number: int = 0) -> PartitionId:
    return PartitionId(CLUSTER, ID, number)


@dataclass
class MixedArchive:
    """An archive in a folder, and its file.

    Attributes:
        folder: Where both are.
    """

    folder: Path

    def config(self, **more: Any) -> ArchiveConfig:
        """Write the file with further sections, and return what it says."""
        path = self.folder / "mixed.yaml"
        told = {
            "kind": "archive",
            "archive": "mixed",
            "source": {"bootstrap": "127.0.0.1:1"},
            "store": {"url": f"file:{self.folder / 'store'}"},
            "region": REGION,
            "topics": {"include": [".*"]},
            "grace": "0s",
            **more,
        }
        path.write_text(json.dumps(told))
        return load_archive(path)

    @property
    def file(self) -> Path:
        return self.folder / "mixed.yaml"

    @property
    def store(self) -> Store:
        return Store(self.config().store)

    @property
    def log(self) -> CommitLog:
        return CommitLog.open_or_begin(self.store, REGION)

    def own(
        self,
        records: Sequence[Record],
        start: int,
        end: int,
        number: int = 0,
        kind: SegmentFormat = SegmentFormat.PARQUET,
        *,
        options: ParquetOptions = TINY,
        commit: bool = True,
    ) -> Segment:
        """Archive the records in [start, end) as a segment with an object of its own."""
        out = io.BytesIO()
        target = write_object(kind, lambda: out, options)
        footer = _filled(target, records, start, end, number)
        size = target.close()
        key = segment_key(
            REGION, TOPIC, number, 0, SourceOffset(start), SourceOffset(end), suffix=kind
        )
        place = self._put(key, out.getvalue()[:size], footer, kind) if footer.parts else None
        made = footer.segment(kind, place)
        if commit:
            self.log.append(Draft(writer=WRITER, add=(made,)))
        return made

    def shared(
        self, ranges: Iterable[tuple[Sequence[Record], int, int, int]], *, commit: bool = True
    ) -> list[Segment]:
        """Archive records, start, end and partition of several segments with one object."""
        out = io.BytesIO()
        target = write_object(SegmentFormat.PARQUET, lambda: out, TINY)
        footers = [_filled(target, *each, whole=True) for each in ranges]
        key = shared_key(REGION, TOPIC, 0)
        if target.close():
            self.store.put_new(key, out.getvalue())
        made = [
            each.segment(
                SegmentFormat.PARQUET,
                _place(key, out.getvalue(), each) if each.parts else None,
            )
            for each in footers
        ]
        if commit:
            self.log.append(Draft(writer=WRITER, add=tuple(made)))
        return made

    def fill(
        self, rng: random.Random, partitions: int = 3, segments: int = 12
    ) -> dict[int, list[Record]]:
        """Archive partitions in segments of all kinds. Returns their records."""
        found: dict[int, list[Record]] = {}
        ends = dict.fromkeys(range(partitions), 0)
        for _ in range(segments):
            spans = {}
            for number in range(partitions):
                first, end = ends[number], ends[number] + rng.randint(1, 30)
                some = [each for each in old_records(end - first, first) if rng.random() < 0.8]
                some = [] if rng.random() < 0.15 else some
                found.setdefault(number, []).extend(some)
                spans[number], ends[number] = (some, first, end), end
            if rng.random() < 0.5:
                self.shared([(*span, number) for number, span in spans.items()])
            else:
                for number, span in spans.items():
                    kind = rng.choice([SegmentFormat.PARQUET, SegmentFormat.BATCHES])
                    self.own(*span, number, kind)
        return found

    def _put(
        self, key: str, data: bytes, footer: SegmentFooter, kind: SegmentFormat
    ) -> SegmentPlace:
        self.store.put_new(key, data)
        return _place(key, data, footer, kind)


def _place(
    key: str, data: bytes, footer: SegmentFooter, kind: SegmentFormat = SegmentFormat.PARQUET
) -> SegmentPlace:
    groups = len(footer.parts) if kind is SegmentFormat.PARQUET else 0
    return SegmentPlace(
        key=key,
        size=len(data),
        first_row_group=footer.first_row_group,
        row_groups=groups,
        crc=zlib.crc32(data),
    )


def _filled(
    target: Any,
    records: Sequence[Record],
    start: int,
    end: int,
    number: int = 0,
    *,
    whole: bool = False,
) -> SegmentFooter:
    head = SegmentHead(
        cluster=CLUSTER, topic_id=ID, topic=TOPIC, partition=number, start=SourceOffset(start)
    )
    writer = target.segment(head, end=SourceOffset(end), whole=whole)
    for each in batches_of([one for one in records if start <= one.offset < end]):
        writer.take(buffer(each), 0, len(each), ())
    found: SegmentFooter = writer.close(SourceOffset(end), GapKind.COMPACTED)
    return found
