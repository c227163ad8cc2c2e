"""Consumer, share and Streams groups: listing, offsets and changes."""

from __future__ import annotations

from towpath.cluster.admin.groups.admin import GroupAdmin
from towpath.cluster.admin.groups.changing import UnaskedError
from towpath.cluster.admin.groups.listing import GroupListing, GroupState
from towpath.model.groups import ClientGroup, Commit, GroupKind

__all__ = [
    "ClientGroup",
    "Commit",
    "GroupAdmin",
    "GroupKind",
    "GroupListing",
    "GroupState",
    "UnaskedError",
]
