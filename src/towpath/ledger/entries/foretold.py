"""The ledger entry about source records that the target will delete early."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from towpath.model.nouns import LinkName, TopicId, TopicName
from towpath.model.reasons import Reason, ReasonCode, sentence

RELEASE = "name the topic under `topics.may_delete` to release it all the same"


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """A forecast, written before a run releases or withholds the retention of a mirror topic.

    Attributes:
        topic: The source topic.
        target_id: The id of the mirror topic; another one that gets the name is not meant.
        reasons: Why the target would keep less than the source. Without any, `ranges` are past the
            source's own retention, too.
        ranges: Partition, first source offset that the target may delete, and the one behind the
            last; an upper bound.
        kept: Whether retention, or compaction, stays held back.
        meant: Whether the file lets the target delete them (`topics.may_delete`).
        at: When, in ms since 1970.
    """

    kind: ClassVar[str] = "foretold"

    link: LinkName
    topic: TopicName
    target_id: TopicId
    reasons: tuple[Reason, ...]
    ranges: tuple[tuple[int, int, int], ...]
    kept: bool
    meant: bool
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic,)

    @property
    def reason(self) -> str:
        """The forecast's reasons as a sentence, for people."""
        return sentence(self.reasons)

    @property
    def offsets(self) -> int:
        """Number of source offsets that the target may delete, an upper bound."""
        return sum(end - first for _, first, end in self.ranges)

    def covers(self, partition: int, offset: int) -> bool:
        """Return whether the target may delete this source offset, by the forecast.

        A target that keeps less goes on deleting, beyond what would have gone at once.
        """
        return bool(self.reasons) or any(
            number == partition and first <= offset < end for number, first, end in self.ranges
        )


def of_compaction(reasons: Iterable[Reason]) -> bool:
    """Return whether compaction is withheld for one of these reasons."""
    return any(reason.code is ReasonCode.COMPACTION_TIGHTER for reason in reasons)


def kept_back(reasons: Iterable[Reason]) -> str:
    """Return the kind of config withheld for these reasons: retention or compaction."""
    return "compaction" if of_compaction(reasons) else "retention"
