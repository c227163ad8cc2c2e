"""Restored access rules: archived ACLs, SCRAM users and quotas.

It is what a mirror brings over, with the archive as of the restored version in the place of the
source. It comes last: until all topics are restored, nobody else shall write to them.
"""

from __future__ import annotations

from dataclasses import dataclass

from towpath.access.observe import KnownAccess, ObservedAccess, asked_for, observe_beside
from towpath.access.subject import AccessClient
from towpath.archive.config import RestoreConfig
from towpath.archive.log import Archive
from towpath.archive.log.captures import captured_access
from towpath.ledger.link import OpenTarget
from towpath.settings import AccessConfig, ClusterConfig, TopicsConfig


@dataclass(frozen=True, slots=True)
class RestoredAccess:
    """The access rules that a restore creates; see `AccessRules`.

    Attributes:
        rules: What the file says of restores.
        target: The target.
        prune: Nothing that the target has is ever removed.
    """

    rules: RestoreConfig
    target: ClusterConfig
    prune: bool = False

    @property
    def access(self) -> AccessConfig:
        """The kinds of access rules to restore."""
        return self.rules.access

    @property
    def topics(self) -> TopicsConfig:
        """The topics to restore, and their names on the target."""
        return self.rules.topics


def access_client(to: OpenTarget, archive: Archive, rules: RestoreConfig) -> AccessClient | None:
    """Return a client that restores access rules; `None` if the file selects none.

    Args:
        to: The target.
        archive: The archive as of the restored version.
        rules: What the file says of restores.

    Raises:
        BrokenLogError: The archive has something that is no access.
    """
    if not asked_for(rules.access):
        return None
    found = captured_access(archive.then, archive.log.where)
    known = KnownAccess(
        acls=frozenset(found.acls.acls) if found.acls is not None else None,
        users=dict(found.users.users) if found.users is not None else None,
        quotas=dict(found.quotas.quotas) if found.quotas is not None else None,
    )

    def look() -> ObservedAccess:
        return observe_beside(known, to.target, to.where.login, rules.access)

    return AccessClient(to, RestoredAccess(rules, to.where), look)
