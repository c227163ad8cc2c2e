"""The errors about archives.

    TowpathError
    ├── ClusterError
    │   └── OtherClusterError       4  the source is not the cluster of the archive
    ├── ArchiveHeldError            4  another process works on the archive
    ├── CommitLogError              4  the commit log of an archive cannot be used
    │   ├── NoArchiveError             there is no archive
    │   ├── NoVersionError          2  it has no such version
    │   ├── BrokenLogError             an entry is missing, or contradicts others
    │   ├── NewerArchiveError          it was written by a newer Towpath
    │   └── WriterReplacedError        another process does this work now
    ├── CommitRefusedError          1  a commit would contradict the archive
    ├── CatalogError                4  a catalog of Iceberg tables could not be used
    ├── CorruptSegmentError         3  an archived object does not hold what its footer says
    ├── NewerSegmentError           4  an archived object was written by a newer Towpath
    ├── TemporaryFileError          4  a segment could not be kept in a temporary file
    ├── RestoreDiffersError         3  the target is not what the archive holds
    └── WithheldError               3  a part of an archive is missing, or is damaged

The number is the exit code; see `towpath.model.errors`.
"""

from towpath.archive.errors.archives import ArchiveHeldError, CatalogError, OtherClusterError
from towpath.archive.errors.commit_log import (
    BrokenLogError,
    CommitLogError,
    CommitRefusedError,
    NewerArchiveError,
    NoArchiveError,
    NoVersionError,
    WriterReplacedError,
)
from towpath.archive.errors.segment import (
    CorruptSegmentError,
    NewerSegmentError,
    RestoreDiffersError,
    TemporaryFileError,
    WithheldError,
)

__all__ = [
    "ArchiveHeldError",
    "BrokenLogError",
    "CatalogError",
    "CommitLogError",
    "CommitRefusedError",
    "CorruptSegmentError",
    "NewerArchiveError",
    "NewerSegmentError",
    "NoArchiveError",
    "NoVersionError",
    "OtherClusterError",
    "RestoreDiffersError",
    "TemporaryFileError",
    "WithheldError",
    "WriterReplacedError",
]
