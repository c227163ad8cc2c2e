"""Records that the target will delete sooner than the source does, as no config is withheld."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from towpath.model.amounts import counted
from towpath.model.nouns import TopicName
from towpath.model.reasons import Reason, sentence

_NOT_HELD = (
    "this is not held back, as the link may not set these configs there: raise them on the target,"
    " let `topics.configs` copy them, or name the topic under `topics.may_delete` if it is meant"
)


def at_risk_text(offsets: int) -> str:
    """Return a sentence about the number of offsets that the target may delete at once."""
    if not offsets:
        return "nothing that the source has now would go at once"
    return f"up to {counted(offsets, 'offset')} that the source has would go at once"


def unforeseen_text(why: str) -> str:
    """Return a sentence that says why nobody knows what the target may delete."""
    return f"it is not known whether the target keeps less than the source: {why}"


@dataclass(frozen=True, slots=True)
class AtRisk:
    """A source topic whose mirror topic deletes records that the source has.

    Attributes:
        topic: The source topic.
        reasons: Why the target keeps less than the source.
        ranges: By partition, the first source offset that the target may delete now, and the one
            behind the last; an upper bound.
    """

    topic: TopicName
    reasons: tuple[Reason, ...]
    ranges: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def offsets(self) -> int:
        """Number of source offsets that the target may delete now, an upper bound."""
        return sum(end - first for first, end in self.ranges.values())

    def __str__(self) -> str:
        return f"the target keeps less than the source: {why_at_risk(self.reasons, self.offsets)}"


def why_at_risk(reasons: Iterable[Reason], offsets: int) -> str:
    """Return why records are at risk, how many of them, and what to do."""
    return f"{sentence(tuple(reasons))}; {at_risk_text(offsets)}; {_NOT_HELD}"
