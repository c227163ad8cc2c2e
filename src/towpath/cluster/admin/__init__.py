"""The control plane of one cluster: what is there, and changes to it."""

from __future__ import annotations

from towpath.cluster.admin.access import AccessAdmin
from towpath.cluster.admin.disks import DiskAdmin
from towpath.cluster.admin.groups import GroupAdmin
from towpath.cluster.admin.partitions import PartitionAdmin
from towpath.cluster.admin.topics import TopicAdmin


class Admin(TopicAdmin, PartitionAdmin, GroupAdmin, DiskAdmin, AccessAdmin):
    """Asks and changes one cluster. Threads may share it; nothing is opened before the first call.

    Every call takes at most the file's `request_timeout`, within which it is tried again as long as
    time may heal what goes wrong. A cluster that was never reached gets five seconds. All raise
    `RefusedError` or `UnreachableError`.

    Calls about many topics or partitions answer for those they can (`Answers`, a dict) and name
    the others in `failed`; those about partitions raise when none has an answer.
    """
