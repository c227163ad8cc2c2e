"""Two real clusters, and what a test has on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, product
from typing import Any

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.kafka import wait_until
from towpath.access.apply import apply
from towpath.access.diff import AccessDifference, diff
from towpath.access.observe import observe
from towpath.access.owned import OwnedAccess
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.nouns import TopicName
from towpath.settings import LinkConfig


@dataclass
class Sides:
    """Both clusters, a user of this test alone, and what asks and changes as `admin`."""

    source: Admin
    target: Admin
    config: LinkConfig
    user: str
    back_doors: tuple[str, str]

    @property
    def names(self) -> dict[TopicName, TopicName]:
        return {TopicName(self.user): self.config.topics.target_name(self.user)}

    def differ(self, *, ours: OwnedAccess = frozenset(), **changes: Any) -> AccessDifference:
        """Return what is to be done, of what this test made: others use these clusters, too."""
        config = self.config.model_copy(update=changes)
        found = diff(observe(self.source, self.target, config), config, self.names, ours)
        mine = tuple(step for step in found.steps if self.user in step.about)
        return AccessDifference(mine, found.notes, found.problems, found.withheld)

    def apply(self, found: AccessDifference) -> None:
        for step in found.steps:
            apply(step, self.target, self.config.access.users)

    def settled(self, **how: Any) -> None:
        """Wait until the brokers have heard of all changes; no step may be left then."""
        wait_until(lambda: not self.differ(**how).steps, "no step is left")


def link(
    source: LocalCluster, target: LocalCluster, vault: Vault | None, **more: Any
) -> LinkConfig:
    def side(cluster: LocalCluster, user: str) -> dict[str, Any]:
        security = {}
        if vault:
            login = {"mechanism": "SCRAM-SHA-512", "username": user, "password": USERS[user]}
            security = {"tls": {"ca": str(vault.ca)}, "sasl": login}
        return {"bootstrap": cluster.bootstrap, "request_timeout": "10s", **security}

    logins = more.pop("logins", ("admin", "admin"))
    return LinkConfig.model_validate(
        {
            "source": side(source, logins[0]),
            "target": side(target, logins[1]),
            "link": "test",
            "topics": {"include": [".*"], "rename": more.pop("rename", "{topic}")},
            "access": {"acls": "full", "quotas": True, "users": more.pop("users", {})},
            **more,
        }
    )


def clear(admin: Admin, user: str) -> None:
    """Take everything of a user away: what is left would hold in later tests."""
    listing = admin.acls.describe()
    assert listing is not None
    admin.acls.delete(acl for acl in listing.known if user in str(acl))
    for credential in admin.users.describe([user]):
        admin.users.delete_credential(credential)
    for quota in admin.quotas.describe().known:
        if user in str(quota):
            admin.quotas.change(quota, None)


def every_kind(user: str, operations: Sequence[Operation]) -> set[Acl]:
    """Return ACLs of every resource, pattern, permission and operation."""
    kinds = [
        kind for kind in product(Resource, Pattern, Permission)
        if kind[:2] != (Resource.CLUSTER, Pattern.PREFIXED)
    ]  # fmt: skip
    return {
        Acl(
            resource=resource,
            name="kafka-cluster" if resource is Resource.CLUSTER else user,
            pattern=pattern,
            principal=f"User:{user}",
            host=EVERY if permission is Permission.ALLOW else "10.0.0.1",
            operation=operation,
            permission=permission,
        )
        for (resource, pattern, permission), operation in zip(kinds, cycle(operations))
    }
