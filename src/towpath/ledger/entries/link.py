"""Ledger entries about a whole link: the clusters it joins, and where it began."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from towpath.model.nouns import ClusterId, LinkName, ProducerId, SourceOffset, TopicId, TopicName

LEVEL = 10
"""The highest feature level that this program knows. It goes up by one with every addition to the
ledger or to a mirror topic that an older program would damage or misread: that program then refuses
the link. What an older program may pass over needs no new level.

Level 2: mapped partitions are written under generations of their producer id. An older program
would not find records of a later generation behind the last receipt, and write them again.

Level 3: one process at a time changes the target for a link, by a lease. The `apply` of an older
program would not look for the lease, and write the same journal.

Level 4: steps about schemas are journalled in a partition of their own. An older program would not
find there which mode a subject of a registry had before a registration that was interrupted.

Level 5: records are changed in flight, or left out. An older program would copy them as they are,
and would not know those again that are on the target. Only links that change records, or may leave
some out, need it.

Level 6: links have states. An older program would go on copying into mirror topics that clients
write to since a failover. Only links that were sealed once need it.

Level 7: a link has a twin in the other direction, whose batches it leaves out. An older program
would copy them back to where they came from. Only links with a twin need it.

Level 8: topics went back to the source through a gateway. An older program would take them for
promoted, and lead clients to the target. Only links that were asked for it need it.

Level 9: transactional producers moved to the target through a gateway. An older program would lead
them to the source. Only links that moved some need it.

Level 10: they may go back, and go on with other sequences, which an older program would not know;
and groups may be asked to move alone, for which it would move all topics. Only links that did one
of both need it."""
GROUPS_LEVEL = 10
"""The feature level of links of which groups were asked to move without their topics."""
TRANSACTIONS_LEVEL = 10
"""The feature level of links that moved transactional producers through a gateway."""
REVERT_LEVEL = 8
"""The feature level of links of which topics were asked to go back through a gateway."""
TWIN_LEVEL = 7
"""The feature level of links that have a twin."""
STATES_LEVEL = 6
"""The feature level of links that were sealed once."""
CHANGES_LEVEL = 5
"""The feature level of links that change records, or may leave some out."""
UNCHANGED_LEVEL = 4
"""The feature level of links that copy all records as they are."""


@dataclass(frozen=True, slots=True)
class LinkIdentity:
    """The two clusters of a link, and the feature level that a program needs to run the link.

    The clusters of the first entry hold. A newer version writes the entry again with a higher
    `level` when it begins to work on the link; `version` is the Towpath that did so. Entries of
    Towpath 0.1 have neither field.
    """

    kind: ClassVar[str] = "link"

    link: LinkName
    source_cluster: ClusterId
    target_cluster: ClusterId
    level: int = 1
    version: str = ""

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A link as its file described it when somebody created it, before anything was copied.

    Nothing of it decides anything: each command reads the file. It lets a ledger list links that
    never ran.

    Attributes:
        source: The bootstrap addresses of the source.
        include: The patterns of its topics; `exclude`, of those that are left out.
        user: Who created it; `host`, on which machine; `at`, when, in ms since 1970.
    """

    kind: ClassVar[str] = "created"

    link: LinkName
    source: tuple[str, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    user: str
    host: str
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayer:
    """A producer id under which `quarantine replay` has written records to mirror topics.

    The entry stands here before the first such record does, so it tells them from those of others.
    """

    kind: ClassVar[str] = "replayer"

    link: LinkName
    producer_id: ProducerId
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.producer_id,)


@dataclass(frozen=True, slots=True)
class FirstLook:
    """The record that a first run with `start: latest` has stored all end offsets.

    It stands behind the `EndOffsets` entries of that look. A topic without one appeared later.
    """

    kind: ClassVar[str] = "look"

    link: LinkName
    run_id: str
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndOffsets:
    """The end offsets of a source topic at the first run of a link with `start: latest`.

    `offsets` are their last stable offsets, by partition. Where one is -1, the partition had no
    leader to tell it, and its mirror topic begins where the leader epoch in `epochs` ended.
    """

    kind: ClassVar[str] = "end"

    link: LinkName
    topic: TopicName
    topic_id: TopicId
    offsets: tuple[SourceOffset, ...]
    epochs: tuple[int, ...]
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic, self.topic_id)
