"""An archive of a source: its file, its runs, and what it holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.archive.segments import seen
from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import Record, wait_until
from tests.support.program import Program
from towpath.archive.config import load_archive
from towpath.archive.format.either_format import read_object
from towpath.archive.format.wanted import ALL, Wanted
from towpath.archive.log import Archive as Readable
from towpath.archive.log import ArchiveState, CommitLog
from towpath.archive.model import PartitionId, Segment
from towpath.model.nouns import TopicPartition
from towpath.store import Store


class Archive:
    """The file of an archive in a folder, and the archive that it describes.

    Args:
        folder: Where the file is.
        source: The source.
        name: What the names of its topics begin with.
        store: The section `store`, by default a folder.
        more: Further sections of the file.
    """

    def __init__(
        self,
        folder: Path,
        source: SharedCluster,
        name: str,
        store: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.source, self.name, self._folder = source, name, folder
        self.file = folder / f"{name}.yaml"
        self._told = {
            "kind": "archive",
            "archive": name,
            "source": {"bootstrap": source.bootstrap},
            "store": store or {"url": f"file:{name}"},
            "region": "here",
            "topics": {"include": [f"{name}.*"]},
            "run": {"discover": "300ms", "heartbeat": "1s"},
            **more,
        }
        self.write()
        self._starts = 0

    def write(self, **more: Any) -> None:
        """Write the file, with other sections."""
        self._told |= more
        self.file.write_text(json.dumps(self._told))

    def start(self, *arguments: str, env: Mapping[str, str] | None = None) -> Program:
        """Start `towpath archive run`."""
        self._starts += 1
        words = ("archive", "run", str(self.file), *arguments)
        return Program(self._folder, *words, env=env, name=f"archive-{self._starts}")

    @property
    def store(self) -> Store:
        """Its store."""
        return Store(load_archive(self.file).store)

    @property
    def log(self) -> CommitLog:
        """Its commit log, read anew."""
        return CommitLog.open(self.store, "here")

    @property
    def state(self) -> ArchiveState:
        """Its state now."""
        return self.log.state

    def partition_id(self, topic: str, partition: int = 0) -> PartitionId:
        """Return the identity of a partition; of topics made again, the last one."""
        found = [
            each
            for each, known in self.state.partitions.items()
            if (known.topic, each.partition) == (topic, partition)
        ]
        return found[-1]

    def segments(self, topic: str, partition: int = 0) -> list[Segment]:
        """Return the segments of a partition, which tile."""
        found = self.state.segments(self.partition_id(topic, partition))
        for before, after in pairwise(found):
            assert before.end == after.start
        return found

    def present(self, topic: str, partition: int = 0, history: int | None = None) -> list[Record]:
        """Return what the source had of a partition, as of its newest history or another one."""
        log, store = self.log, self.store
        archive = Readable(log, log.state, history)
        (pid,) = (
            each
            for each, known in archive.partitions().items()
            if (known.topic, each.partition) == (topic, partition)
        )
        pieces = archive.pieces(pid)
        return [
            each
            for segment, first, end in pieces
            for each in _records(store, segment, Wanted(first, end))
        ]

    def archived_to(self, tp: TopicPartition) -> int:
        """Return up to which offset a partition is archived, 0 if it is not at all."""
        try:
            state = self.state
        except Exception:  # noqa: BLE001  # there is no archive yet
            return 0
        ends = [
            known.archived_to
            for each, known in state.partitions.items()
            if (known.topic, each.partition) == (tp.topic, tp.partition)
        ]
        return max(ends, default=0)

    def wait_for(self, run: Program, topic: str, end: int, partition: int = 0) -> None:
        """Wait until a partition is archived up to an offset, while a run goes on."""

        def is_there() -> bool:
            assert run.running, run.said
            return self.archived_to(TopicPartition(topic, partition)) >= end  # type: ignore[arg-type]

        wait_until(is_there, f"{topic}-{partition} is archived up to {end}", 120)

    def records(self, topic: str, partition: int = 0) -> list[Record]:
        """Return all archived records of a partition, as consumers see them."""
        store, segments = self.store, self.segments(topic, partition)
        return [each for segment in segments for each in _records(store, segment)]


def _records(store: Store, segment: Segment, wanted: Wanted = ALL) -> Iterator[Record]:
    """Yield the records of a segment, as consumers see them; its footer is the log's."""
    assert segment.problem is None
    if segment.place is None:
        return
    key = segment.place.key
    with closing(read_object(segment.format, store.reader(key), key)) as file:
        footer = file.segment(segment.place.first_row_group)
        assert footer.segment(segment.format, segment.place) == segment
        for each in seen(file.rows(footer, wanted)):
            told = each.record
            headers = tuple((name.decode(), value) for name, value in told.headers)
            yield Record(
                told.key, told.value, headers, told.timestamp, told.offset, segment.partition
            )
