"""A check whether gaps on the target can be filled with transaction markers."""

from __future__ import annotations

from towpath.cluster.admin import Admin
from towpath.cluster.codes import UNSUPPORTED_VERSION
from towpath.model.findings import Note
from towpath.model.nouns import Side
from towpath.settings import OffsetsPolicy

_MAPPED = (
    "a run that follows one that did not end by itself cannot make the target refuse what that one"
    " may still send to mapped partitions, and waits for it where records are old"
)
_BOTH = (
    "source offsets without a record (transaction markers, aborted records) are filled in"
    " transactions, and consumers with isolation.level=read_uncommitted may see empty records"
    f" there; partitions with offsets that compaction left empty are mapped; {_MAPPED}"
)


def markers(policy: OffsetsPolicy, fill: int, target: Admin) -> tuple[int, tuple[Note, ...]]:
    """Return the number of compacted offsets to fill per partition, with notes.

    Args:
        policy: What the file says of offsets.
        fill: How many offsets the file lets be filled.
        target: The target.

    Raises:
        ClusterError: The target could not be reached.
    """
    mapped = policy is OffsetsPolicy.MAPPED
    refused = target.producers.marker_refusal()
    if refused is None:
        return 0 if mapped else fill, ()
    if refused.error == UNSUPPORTED_VERSION:
        text = "the brokers take no transaction markers from clients (WriteTxnMarkers)"
    else:
        text = "the login lacks the ACL Alter (or ClusterAction) on the cluster; add it there"
    return 0, (Note(Side.TARGET, text + "; until then, " + (_MAPPED if mapped else _BOTH)),)
