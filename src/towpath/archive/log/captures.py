"""Captured topic descriptions, group offsets and access rules in an archive, as values.

The commit log holds them as captures; a restore reads them as of the version that it restores.
Topics have their ids as names there, so the description of a topic that is gone, or was made again,
stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from towpath.archive.errors import BrokenLogError
from towpath.archive.log.entries import Capture
from towpath.archive.log.state import ArchiveState
from towpath.model.acl import Acl
from towpath.model.groups import ClientGroup
from towpath.model.nouns import ClusterId, TopicId, TopicName
from towpath.model.quota import Quota
from towpath.model.scram import Credential

TOPIC, GROUP = "topic", "group"
ACLS, USERS, QUOTAS = "acls", "users", "quotas"
"""Kinds of captures."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCapture:
    """A topic as it was described when it was archived.

    Attributes:
        cluster: The cluster.
        id: The topic id.
        name: The name.
        partitions: Number of partitions.
        replication_factor: The largest number of replicas of a partition.
        own: Configs set on the topic itself.
        configs: All configs in effect; empty if the login could not see them.
    """

    cluster: ClusterId
    id: TopicId
    name: TopicName
    partitions: int
    replication_factor: int
    own: Mapping[str, str] = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)

    def capture(self) -> Capture:
        """Return the topic description as a capture of the commit log."""
        value = _TOPIC.dump_python(self, mode="json")
        return Capture(kind=TOPIC, name=self.id, value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedOffset:
    """The committed offset of a group in one partition.

    Attributes:
        topic_id: The topic id.
        topic: The name of the topic.
        partition: The partition.
        offset: The offset of the next record to read.
        metadata: The text that the group committed with it.
    """

    topic_id: TopicId
    topic: TopicName
    partition: int
    offset: int
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCapture:
    """The committed offsets of a consumer group.

    Attributes:
        cluster: The cluster.
        group: The group.
        offsets: Its committed offsets.
    """

    cluster: ClusterId
    group: ClientGroup
    offsets: tuple[CapturedOffset, ...] = ()

    def capture(self) -> Capture:
        """Return the group's offsets as a capture of the commit log."""
        value = _GROUP.dump_python(self, mode="json")
        return Capture(kind=GROUP, name=self.group.name, value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class AclsCapture:
    """All ACLs of a cluster, in their order."""

    cluster: ClusterId
    acls: tuple[Acl, ...]

    def capture(self) -> Capture:
        """Return the ACLs as a capture of the commit log."""
        return Capture(kind=ACLS, name=self.cluster, value=_ACLS.dump_python(self, mode="json"))


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersCapture:
    """The SCRAM users of a cluster with mechanisms and iterations; brokers never reveal secrets."""

    cluster: ClusterId
    users: tuple[tuple[Credential, int], ...]

    def capture(self) -> Capture:
        """Return the users as a capture of the commit log."""
        return Capture(kind=USERS, name=self.cluster, value=_USERS.dump_python(self, mode="json"))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotasCapture:
    """All client quotas of a cluster."""

    cluster: ClusterId
    quotas: tuple[tuple[Quota, float], ...]

    def capture(self) -> Capture:
        """Return the quotas as a capture of the commit log."""
        return Capture(kind=QUOTAS, name=self.cluster, value=_QUOTAS.dump_python(self, mode="json"))


_TOPIC, _GROUP = TypeAdapter(TopicCapture), TypeAdapter(GroupCapture)
_ACLS, _USERS = TypeAdapter(AclsCapture), TypeAdapter(UsersCapture)
_QUOTAS = TypeAdapter(QuotasCapture)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedAccess:
    """The archived ACLs, users and quotas of a source; `None` for kinds that were not archived."""

    acls: AclsCapture | None = None
    users: UsersCapture | None = None
    quotas: QuotasCapture | None = None


def captured_access(state: ArchiveState, where: str) -> CapturedAccess:
    """Return the archived access rules; with several source clusters those of the latest one.

    Args:
        state: The archive as of the version.
        where: The log, for messages.

    Raises:
        BrokenLogError: A capture is something else.
    """
    return CapturedAccess(
        acls=_last(_ACLS, ACLS, state, where),
        users=_last(_USERS, USERS, state, where),
        quotas=_last(_QUOTAS, QUOTAS, state, where),
    )


def captured_topics(state: ArchiveState, where: str) -> dict[TopicId, TopicCapture]:
    """Return the captured topic descriptions, by topic id.

    Args:
        state: The archive as of the version.
        where: The log, for messages.

    Raises:
        BrokenLogError: A capture is no topic.
    """
    return {each.id: each for each in _captured(_TOPIC, TOPIC, state, where)}


def captured_groups(state: ArchiveState, where: str) -> dict[str, GroupCapture]:
    """Return the captured offsets of consumer groups, by group name.

    Args:
        state: The archive as of the version.
        where: The log, for messages.

    Raises:
        BrokenLogError: A capture is no group.
    """
    return {each.group.name: each for each in _captured(_GROUP, GROUP, state, where)}


def _captured(adapter: TypeAdapter[T], kind: str, state: ArchiveState, where: str) -> Iterator[T]:
    for (this, name), each in state.captures.items():
        if this == kind:
            try:
                yield adapter.validate_python(each.value)
            except ValidationError as error:
                why = f"the {kind} {name} in version {each.version} cannot be read: {error.title}"
                raise BrokenLogError(where, why) from None


def _last(adapter: TypeAdapter[T], kind: str, state: ArchiveState, where: str) -> T | None:
    """Return the latest capture of a kind."""
    found = [(each.version, name) for (of, name), each in state.captures.items() if of == kind]
    if not found:
        return None
    name = max(found)[1]
    captures = {(kind, name): state.captures[kind, name]}
    return next(iter(_captured(adapter, kind, replace(state, captures=captures), where)))
