"""What a gateway knows of topics whose records are read from their mirrors. For one event loop.

With `gateway.reads: target` clients know the brokers of the target alone. Records of topics that
are not promoted go to the leaders at the source, and are read from the mirror topics. Once topics
went back, nothing is copied to the target any more, and the source serves them wholly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from towpath.cluster.metadata import Metadata
from towpath.gateway.fenced_members import FencedMembers
from towpath.ledger.entries import Promoted
from towpath.model.nouns import TopicName, TopicPartition

_FRESH = 1.0
"""Seconds for which the ends of a mirror topic count."""


class MirrorEnds(NamedTuple):
    """Where the logs of a partition begin and end.

    Attributes:
        start: Where the log on the target begins; `end`, where it ends.
        source_end: Where that at the source ends, `None` where it does not tell.
        at: When, by the clock of the loop.
    """

    start: int
    end: int
    source_end: int | None
    at: float


@dataclass(slots=True)
class MirrorReads:
    """The topics and groups of a link whose clients read from the target.

    Attributes:
        is_linked: Tells whether a topic is one of the link.
        is_mirrored: Tells whether a group is one of the link.
        now: Tells the time, in seconds.
        link: The name of the link, whose records tell what went back for good; a later link copies
            topics of an earlier one anew.
        ask: Called where the source, or the ends of mirror topics, are to be looked at soon.
        fenced: Members whose groups are not promoted.
        view: The topics as the source tells them, `None` before the first look.
        names: The names of mirror topics by their ids.
        wanted: Partitions whose ends are asked for.
        ends: Their ends.
        returned: The topics that went back to the source, which serves them, with the ids by which
            clients know them; `returned_groups`, the groups.
    """

    is_linked: Callable[[str], bool]
    is_mirrored: Callable[[str], bool]
    now: Callable[[], float]
    fenced: FencedMembers
    link: str = ""
    ask: Callable[[], None] = lambda: None
    view: Metadata | None = None
    names: Mapping[UUID, str] = field(default_factory=dict)
    wanted: set[TopicPartition] = field(default_factory=set)
    ends: dict[TopicPartition, MirrorEnds] = field(default_factory=dict)
    returned: dict[str, UUID] = field(default_factory=dict)
    returned_groups: set[str] = field(default_factory=set)

    def move(self, record: Promoted) -> None:
        """Note what went to the target, or back."""
        if record.back and record.link == self.link:
            self.returned |= {each.topic: UUID(each.target_id) for each in record.topics}
            self.returned_groups |= {*record.groups}
            return
        for each in record.topics:
            self.returned.pop(each.topic, None)
        self.returned_groups -= {*record.groups}

    def is_back(self, group: str, of_source: Collection[str]) -> bool:
        """Whether the source serves a group again.

        Args:
            group: The group.
            of_source: Groups that the source had when this gateway began.
        """
        return bool(self.returned) and (group in self.returned_groups or group in of_source)

    def begins_at_source(self, group: str, topics: Collection[str]) -> bool:
        """Note that a new group begins at the source if it reads what went back; return that."""
        begins = not self.returned.keys().isdisjoint(topics)
        if begins:
            self.returned_groups.add(group)
        return begins

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the broker that leads a partition at the source, `None` for none that is known."""
        tp = TopicPartition(TopicName(topic), partition)
        found = self.view.leader(tp) if self.view is not None else None
        if found is None:
            self.ask()
        return found.id if found is not None else None

    def is_ahead(self, topic: str, partition: int, offset: int) -> bool:
        """Whether a position that the mirror topic does not have is still to be copied.

        A client that was at the source may be some records ahead of the mirror. While nothing is
        known it counts as ahead, as a client that hears otherwise begins anew elsewhere.
        """
        tp = TopicPartition(TopicName(topic), partition)
        found = self.ends.get(tp)
        if found is None or self.now() - found.at > _FRESH:
            self.wanted.add(tp)
            self.ask()
            return found is None or offset >= found.start
        if offset < found.start:
            return False
        return found.source_end is None or offset <= found.source_end

    def asked(self) -> set[TopicPartition]:
        """Return the partitions whose ends are to be asked now."""
        asked, self.wanted = self.wanted, set()
        return asked
