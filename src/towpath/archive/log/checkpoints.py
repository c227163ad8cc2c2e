"""Checkpoints of the commit log, which spare readers from reading all entries.

A checkpoint is a Parquet file with one row for each segment, and the rest of the state as JSON in
its metadata. It is made of entries alone, so a missing or damaged one costs time and nothing else.
"""

from __future__ import annotations

import io
import json
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from towpath.archive.errors import BrokenLogError, NewerArchiveError
from towpath.archive.keys import checkpoint_key, checkpoint_prefix
from towpath.archive.log.checksums import (
    ALGORITHM,
    SAYS,
    require_file,
    summed_file,
    unsummed_metadata,
)
from towpath.archive.log.columns import COLUMNS, SegmentTable, TabledPartition
from towpath.archive.log.entries import LogWriter
from towpath.archive.log.state import ArchivedTo, ArchiveState, Captured, RemovedObject
from towpath.archive.model import BatchMark, PartitionId
from towpath.model.errors import ObjectExistsError
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName
from towpath.store import Store

FORMAT = 2
"""The newest format: a state with several histories of a partition. All others say 1."""
_FIRST = 1
_STATE = b"towpath.archive"
_ADVICE = "it is passed over, and logs are read without it; delete it"
_KEPT = 2
_SPARSE = 5_000
"""Of so many versions one checkpoint is kept for ever, for those who ask for the past."""
_ENCODINGS = {
    **dict.fromkeys(("start", "end", "first", "last", "min_time", "max_time", "created"),
                    "DELTA_BINARY_PACKED"),
    "key": "DELTA_BYTE_ARRAY",
}  # fmt: skip
_ENCODED = [name for name in COLUMNS.names if name not in _ENCODINGS]


class LogCheckpoints:
    """The checkpoints of one log.

    Args:
        store: The store.
        region: The region of the archive.

    Attributes:
        notes: What was found wrong with some of them, as sentences.
    """

    def __init__(self, store: Store, region: str) -> None:
        self._store, self._region = store, region
        self.notes: list[str] = []

    def versions(self) -> list[int]:
        """Return the versions that have a checkpoint, ascending.

        Raises:
            StoreError: The store could not be read.
        """
        names = [each.key.rpartition("/")[2] for each in self._store.list(self._prefix)]
        found = (name.removesuffix(".parquet") for name in names)
        return [int(each) for each in found if each.isdigit()]

    def newest(self, until: int | None = None) -> ArchiveState:
        """Return the newest checkpoint up to a version, or an empty state if there is none.

        Raises:
            NewerArchiveError: It was written in a newer format.
            StoreError: The store could not be read.
        """
        for version in reversed(self.versions()):
            if until is None or version <= until:
                try:
                    return self.read(version)
                except BrokenLogError as error:
                    self.notes.append(str(error))
        return ArchiveState()

    def read(self, version: int) -> ArchiveState:
        """Read the checkpoint of a version.

        Raises:
            BrokenLogError: It is no checkpoint, or not the one that was written.
            NewerArchiveError: It was written in a newer format.
            StoreError: The store could not be read.
        """
        return self._read(version)[0]

    def is_summed(self, version: int) -> bool:
        """Return whether a checkpoint has a checksum; reads the whole checkpoint. See `read`."""
        return self._read(version)[1]

    def _read(self, version: int) -> tuple[ArchiveState, bool]:
        key = checkpoint_key(self._region, version)
        where = f"{self._store.config.url}/{key}"
        data = self._store.get_whole(key)
        try:
            is_summed = require_file(data, where)
        except BrokenLogError as error:
            raise BrokenLogError(where, f"{error.why}; {_ADVICE}") from None
        try:
            file = pq.ParquetFile(pa.BufferReader(data))
            told = json.loads(file.schema_arrow.metadata[_STATE])
            if told["v"] > FORMAT:
                raise NewerArchiveError(where, str(told.get("towpath", "")), told["v"], FORMAT)
            state = _state(told, _with_all(file.read()))
        except (pa.ArrowException, OSError, KeyError, ValueError, TypeError):
            raise BrokenLogError(where, f"it is no checkpoint of a commit log; {_ADVICE}") from None
        if SAYS in told and not is_summed:
            raise BrokenLogError(where, f"it lacks its checksum; {_ADVICE}")
        return state, is_summed

    def write(self, state: ArchiveState) -> ArchiveState:
        """Write a checkpoint unless its version has one; return the state in compact form.

        Raises:
            StoreError: The store could not be written.
        """
        state = state.compacted()
        with suppress(ObjectExistsError):  # another writer was faster; it says the same
            self._store.put_new(checkpoint_key(self._region, state.version), _written(state))
        self._tidy()
        return state

    def _tidy(self) -> None:
        """Delete old checkpoints but for a few."""
        versions = self.versions()
        sparse = {version // _SPARSE: version for version in reversed(versions)}
        kept = {*versions[-_KEPT:], *sparse.values()}
        old = [checkpoint_key(self._region, each) for each in versions if each not in kept]
        self._store.delete(old)

    @property
    def _prefix(self) -> str:
        return checkpoint_prefix(self._region)


def _with_all(rows: pa.Table) -> pa.Table:
    """Return rows of this version of the format or an older one with all columns."""
    for field in COLUMNS:
        if field.nullable and field.name not in rows.column_names:
            rows = rows.append_column(field, pa.nulls(len(rows), field.type))
    return rows.select(COLUMNS.names).cast(COLUMNS)


def _written(state: ArchiveState) -> bytes:
    has_histories = any(each.fork is not None for each in state.partitions.values())
    told = {"v": FORMAT if has_histories else _FIRST, SAYS: ALGORITHM, **_told(state)}
    metadata = {
        _STATE: json.dumps(told, separators=(",", ":")).encode(),
        **unsummed_metadata(),
    }
    out = io.BytesIO()
    pq.write_table(
        state.base.rows.replace_schema_metadata(metadata),
        out,
        compression="zstd",
        compression_level=1,
        use_dictionary=_ENCODED,
        column_encoding=_ENCODINGS,
        write_statistics=False,
    )
    return summed_file(out.getvalue())


def _told(state: ArchiveState) -> dict[str, Any]:
    tabled = [[*each.id, each.topic] for each in state.base.partitions]
    places = [
        [*each, at.topic, at.begin, at.archived_to, at.log_start, at.stable_end, at.seen]
        for each, at in state.partitions.items()
    ]
    captures = [[*each, found.value, found.version] for each, found in state.captures.items()]
    return {
        "version": state.version,
        "time": state.time,
        "tip": state.tip,
        "tabled": tabled,
        "partitions": places,
        "marks": [
            [*each, at.fork, at.tail]
            for each, at in state.partitions.items()
            if at.fork is not None or at.tail is not None
        ],
        "captures": captures,
        "writers": [asdict(each) for each in state.writers.values()],
        "removed": [[key, each.version, each.time] for key, each in state.removed.items()],
    }


def _state(told: dict[str, Any], rows: pa.Table) -> ArchiveState:
    tabled = [TabledPartition(_id(*each), TopicName(topic)) for *each, topic in told["tabled"]]
    writers = [LogWriter(**each) for each in told["writers"]]
    places = dict(_place(*each) for each in told["partitions"])
    for *each, fork, tail in told.get("marks", ()):
        at = _id(*each)
        mark = None if tail is None else BatchMark(*tail)
        places[at] = replace(places[at], fork=fork, tail=mark)
    return ArchiveState(
        version=told["version"],
        time=told["time"],
        tip=told["tip"],
        partitions=places,
        captures={
            (kind, name): Captured(value, version)
            for kind, name, value, version in told["captures"]
        },
        writers={each.work: each for each in writers},
        removed={key: RemovedObject(version, time) for key, version, time in told["removed"]},
        base=SegmentTable(tabled, rows),
    )


def _id(cluster: str, topic_id: str, partition: int) -> PartitionId:
    return PartitionId(ClusterId(cluster), TopicId(topic_id), partition)


def _place(
    cluster: str, topic_id: str, partition: int, topic: str, *numbers: int
) -> tuple[PartitionId, ArchivedTo]:
    begin, archived_to, log_start, stable_end, seen = numbers
    return _id(cluster, topic_id, partition), ArchivedTo(
        topic=TopicName(topic),
        begin=SourceOffset(begin),
        archived_to=SourceOffset(archived_to),
        log_start=SourceOffset(log_start),
        stable_end=SourceOffset(stable_end),
        seen=seen,
    )
