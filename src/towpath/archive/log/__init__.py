"""The commit log: which segments an archive holds, as of every version.

`commit_log` reads and writes it. `entries` are what it consists of, `stored` their objects,
`coding` their format, `rules` what may follow what, `state` what they make together (`columns` has
its segments), `checkpoints` states that were written down. `archive` is what readers of records
see, also of the past, and `readers` keeps objects for them.
"""

from towpath.archive.log.as_of import Archive, AsOf, SegmentPiece, open_archive
from towpath.archive.log.commit_log import CommitLog, Committed
from towpath.archive.log.entries import (
    Capture,
    Draft,
    EntryKind,
    LogEntry,
    LogWriter,
    SeenPartition,
)
from towpath.archive.log.histories import (
    Find,
    HistoryStretch,
    as_of_history,
    followed_histories,
    namesakes,
    newest_histories,
    newest_history,
    stretches,
)
from towpath.archive.log.readers import ArchiveReader, ArchiveReading, Stays, living_readers, sweep
from towpath.archive.log.state import ArchivedTo, ArchiveState, Captured

__all__ = [
    "Archive",
    "ArchiveReader",
    "ArchiveReading",
    "ArchiveState",
    "ArchivedTo",
    "AsOf",
    "Capture",
    "Captured",
    "CommitLog",
    "Committed",
    "Draft",
    "EntryKind",
    "Find",
    "HistoryStretch",
    "LogEntry",
    "LogWriter",
    "SeenPartition",
    "SegmentPiece",
    "Stays",
    "as_of_history",
    "followed_histories",
    "living_readers",
    "namesakes",
    "newest_histories",
    "newest_history",
    "open_archive",
    "stretches",
    "sweep",
]
