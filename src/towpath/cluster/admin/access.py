"""The control plane of one cluster: who may do what, who may log in, and how much."""

from __future__ import annotations

from towpath.cluster.admin.acls import AclAdmin
from towpath.cluster.admin.quotas import QuotaAdmin
from towpath.cluster.admin.users import UserAdmin


class AccessAdmin(AclAdmin, UserAdmin, QuotaAdmin):
    """Asks about access and changes it; see `towpath.cluster.admin.Admin`."""
