"""The plan of `towpath restart` for each topic, and the topics it cannot restart. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from towpath.ledger.books import LinkBooks
from towpath.model.nouns import NO_TOPIC_ID, TopicId, TopicName
from towpath.topics.steps import DeleteTopic


@dataclass(frozen=True, slots=True)
class MirrorTopic:
    """A mirror topic that exists on the target.

    Attributes:
        id: Its topic id.
        partitions: The number of its partitions.
        records: How many offsets its logs span.
        owned: Whether this link created it.
        foreign: Whether it holds, or may hold, records that this link did not write.
    """

    id: TopicId
    partitions: int
    records: int
    owned: bool
    foreign: bool


@dataclass(frozen=True, slots=True)
class Restart:
    """A source topic that is copied from its beginning; `str()` gives a sentence.

    Attributes:
        topic: The source topic.
        target: The name of the mirror topic.
        source_id: The id of the source topic that is there now.
        mirror: The mirror topic, `None` if the target has none.
        replace: Whether the mirror topic is deleted first.
    """

    topic: TopicName
    target: TopicName
    source_id: TopicId
    mirror: MirrorTopic | None
    replace: bool

    @property
    def deletion(self) -> DeleteTopic | None:
        """The step that deletes the mirror topic, if it is to be replaced."""
        if self.mirror is None or not self.replace:
            return None
        return DeleteTopic(self.topic, self.target, self.mirror.id, self.mirror.partitions)

    def __str__(self) -> str:
        copied = f"{self.topic}: copy the new topic from its beginning"
        if self.deletion is not None and self.mirror is not None:
            return (
                f"{self.topic}: delete mirror topic {self.target} with the"
                f" {self.mirror.records} offsets of the old topic, create it again, and copy the"
                " new topic from its beginning, with identical offsets"
            )
        if self.mirror is None or not self.mirror.records:
            return f"{copied} to {self.target}, which has no records, with identical offsets"
        return (
            f"{copied} to {self.target}, behind the {self.mirror.records} offsets of the old"
            " topic; offsets are mapped, not identical"
        )


@dataclass(frozen=True, slots=True)
class NotRestarted:
    """A topic that is not restarted, and why; `str()` gives a sentence."""

    topic: TopicName
    why: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.why}"


Outcome = Restart | NotRestarted


def outcome(
    topic: TopicName,
    target: TopicName | None,
    sources: Mapping[TopicName, TopicId],
    mirror: MirrorTopic | None,
    books: LinkBooks,
    *,
    replace: bool,
) -> Outcome:
    """Return the plan of restarting one topic.

    Args:
        topic: The source topic, which the link has copied.
        target: The name of the mirror topic, `None` if the file no longer asks for one.
        sources: The ids of the topics that the source has.
        mirror: The mirror topic, `None` if the target has none.
        books: What the ledger knows of the link.
        replace: Whether the mirror topic is to be deleted.
    """
    if topic not in sources:
        advice = "create it there, or name it under `topics.exclude`"
        return NotRestarted(topic, f"the source has no topic of this name; {advice}")
    if target is None:
        return NotRestarted(topic, "the file does not ask for this topic; see `topics.include`")
    if topic not in books.made_again(sources):
        return NotRestarted(
            topic, "the source topic is the one that is copied, so there is nothing to restart"
        )
    if replace and mirror is not None:
        hindrance = _hindrance(target, mirror)
        if hindrance:
            return NotRestarted(topic, f"{hindrance}, or use --keep")
    return Restart(topic, target, sources[topic], mirror, replace)


def _hindrance(target: TopicName, mirror: MirrorTopic) -> str:
    """Return why a mirror topic must not be deleted, "" if it may be."""
    if not mirror.owned or mirror.id == NO_TOPIC_ID:
        return (
            f"this link did not create mirror topic {target}, so it does not delete it; delete it"
            " by hand and restart again"
        )
    if mirror.foreign:
        return (
            f"mirror topic {target} holds records that this link did not write, so it is not"
            " deleted; delete it by hand and restart again"
        )
    return ""
