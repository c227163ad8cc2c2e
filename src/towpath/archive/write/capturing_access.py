"""Captures of changed access rules: ACLs, SCRAM users without secrets, quotas."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from towpath.archive.log import ArchiveState, Capture
from towpath.archive.log.captures import (
    ACLS,
    QUOTAS,
    USERS,
    AclsCapture,
    QuotasCapture,
    UsersCapture,
)
from towpath.archive.write.source_look import SourceLook
from towpath.cluster.admin import Admin
from towpath.cluster.admin.changes import Listing
from towpath.model.errors import ClusterError
from towpath.model.nouns import ClusterId

_EVERY = 300.0
"""Seconds between two looks."""


class AccessCaptures:
    """Finds access rules that changed since the last capture.

    Args:
        source: The source.
        state: The archive when the run begins.
        wanted: Whether access is archived at all.

    Attributes:
        untold: Why something is not archived, by what it is. Many logins may not see access.
    """

    def __init__(self, source: Admin, state: ArchiveState, *, wanted: bool) -> None:
        self._source, self._wanted = source, wanted
        self._next = 0.0
        found = state.captures.items()
        self._known: dict[tuple[str, str], Any] = {
            key: each.value for key, each in found if key[0] in {ACLS, USERS, QUOTAS}
        }
        self.untold: dict[str, str] = {}

    def changed(self, look: SourceLook) -> list[Capture]:
        """Return captures of changed access rules. Never raises `ClusterError`."""
        if not self._wanted or time.monotonic() < self._next:
            return []
        self._next = time.monotonic() + _EVERY
        asked = {"ACLs": self._acls, "users": self._users, "quotas": self._quotas}
        found = [self._asked(what, ask, look.cluster) for what, ask in asked.items()]
        fresh = [
            each
            for each in found
            if each is not None and self._known.get((each.kind, each.name)) != each.value
        ]
        self._known |= {(each.kind, each.name): each.value for each in fresh}
        return fresh

    def _asked(
        self, what: str, ask: Callable[[ClusterId], Capture | None], cluster: ClusterId
    ) -> Capture | None:
        self.untold.pop(what, None)
        try:
            return ask(cluster)
        except ClusterError as error:
            self.untold[what] = str(error)
            return None

    def _acls(self, cluster: ClusterId) -> Capture | None:
        found = self._source.acls.describe()
        if found is None:
            return None  # it has no authorizer
        self._strange("ACLs", found)
        return AclsCapture(cluster=cluster, acls=tuple(sorted(found.known))).capture()

    def _users(self, cluster: ClusterId) -> Capture:
        found = sorted(self._source.users.describe().items())
        return UsersCapture(cluster=cluster, users=tuple(found)).capture()

    def _quotas(self, cluster: ClusterId) -> Capture:
        found = self._source.quotas.describe()
        self._strange("quotas", found)
        known = sorted(found.known.items(), key=lambda each: str(each[0]))
        return QuotasCapture(cluster=cluster, quotas=tuple(known)).capture()

    def _strange(self, what: str, found: Listing[Any]) -> None:
        if found.strange:
            kinds = ", ".join(sorted(found.strange))
            self.untold[what] = f"those with {kinds}, which Towpath does not know, are left out"
