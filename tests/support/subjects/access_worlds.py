"""Clusters as values, for tests of what is pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from towpath.access.diff import AccessDifference, diff
from towpath.access.observe import Both, ObservedAccess
from towpath.access.steps import (
    AccessStep,
    CreateAcl,
    DeleteAcl,
    DeleteUser,
    RemoveQuota,
    SetQuota,
    SetUser,
)
from towpath.model.acl import Acl
from towpath.model.nouns import TopicName
from towpath.model.quota import Quota
from towpath.model.scram import Credential
from towpath.model.secret import Secret
from towpath.settings import LinkConfig


@dataclass
class World:
    """The access of one cluster."""

    acls: set[Acl] = field(default_factory=set)
    users: dict[Credential, int] = field(default_factory=dict)
    quotas: dict[Quota, float] = field(default_factory=dict)
    configs: dict[str, str | None] = field(default_factory=dict)

    @property
    def things(self) -> set[tuple[str, str]]:
        """Return subject and name of everything."""
        return {
            *(("acls", str(acl)) for acl in self.acls),
            *(("users", str(user)) for user in self.users),
            *(("quotas", str(quota)) for quota in self.quotas),
        }

    def do(self, step: AccessStep) -> None:
        """Become what the step leaves behind; what it requires must hold."""
        match step:
            case CreateAcl():
                assert step.acl not in self.acls
                self.acls.add(step.acl)
            case DeleteAcl():
                self.acls.remove(step.acl)
            case SetUser():
                assert self.users.get(step.credential) == step.had
                self.users[step.credential] = step.iterations
            case DeleteUser():
                assert self.users.pop(step.credential) == step.had
            case SetQuota():
                assert self.quotas.get(step.quota) == step.had
                self.quotas[step.quota] = step.value
            case RemoveQuota():
                assert self.quotas.pop(step.quota) == step.had
            case _:
                assert_never(step)


def link(
    acls: str = "full",
    users: Collection[str] = (),
    *,
    rename: str = "{topic}",
    prune: bool = False,
    login: str = "mirror",
    quotas: bool = True,
) -> LinkConfig:
    """Return a link that copies access; the passwords are the names of the users."""
    sasl = {"mechanism": "PLAIN", "username": login, "password": Secret("pw")}
    return LinkConfig.model_validate(
        {
            "source": {"bootstrap": "a:1"},
            "target": {"bootstrap": "b:1", "sasl": sasl},
            "link": "test",
            "topics": {"include": ["orders", "payments"], "rename": rename},
            "access": {
                "acls": acls, "users": {user: Secret(user) for user in users}, "quotas": quotas,
            },
            "prune": prune,
        }
    )  # fmt: skip


def named(config: LinkConfig, *topics: str) -> dict[TopicName, TopicName]:
    """Return the names of topics on the target, by default of both that match."""
    names = topics or ("orders", "payments")
    return {TopicName(name): config.topics.target_name(name) for name in names}


def observed(source: World, target: World, **others: Any) -> ObservedAccess:
    """Return two worlds as they were when looked at."""
    return ObservedAccess(
        acls=Both(frozenset(source.acls), frozenset(target.acls)),
        users=Both(dict(source.users), dict(target.users)),
        quotas=Both(dict(source.quotas), dict(target.quotas)),
        configs=Both(dict(source.configs), dict(target.configs)),
        **others,
    )


def differ(
    source: World,
    target: World,
    config: LinkConfig,
    ours: Iterable[tuple[str, str]] = (),
    names: Mapping[TopicName, TopicName] | None = None,
    **others: Any,
) -> AccessDifference:
    """Return what is between two worlds."""
    wanted = named(config) if names is None else names
    return diff(observed(source, target, **others), config, wanted, frozenset(ours))


def texts(found: AccessDifference, about: str) -> list[str]:
    """Return the notes about one thing."""
    return [note.text for note in found.notes if note.about == about]
