"""The result of comparing both registries' answers for schema ids in records. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from towpath.model.nouns import TopicName
from towpath.schemas.answers import RecordId
from towpath.wire.naming import Part


class IdVerdict(StrEnum):
    """The verdicts on a schema id."""

    EQUAL = "equal"
    MISSING = "missing"
    """The source has it, the target has not."""
    DIFFERENT = "different"
    UNKNOWN = "unknown"
    """A registry gave no answer."""
    LOST = "lost"
    """Neither registry has it, although the topic has a subject."""
    NO_ID = "no id"
    """It only looks like an id: the source has it not, and the topic has no subject."""
    GIVEN = "given"
    """The file says whose id it is at the source, and the target has a schema with it."""


PROVEN = frozenset({IdVerdict.EQUAL, IdVerdict.LOST, IdVerdict.NO_ID, IdVerdict.GIVEN})
"""Verdicts with which readers on the target fare as those at the source."""
WORST_FIRST = (
    IdVerdict.DIFFERENT,
    IdVerdict.MISSING,
    IdVerdict.UNKNOWN,
    IdVerdict.EQUAL,
    IdVerdict.GIVEN,
    IdVerdict.LOST,
    IdVerdict.NO_ID,
)
"""Of several schemas that an id may stand for, the first of these verdicts counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdAnswer:
    """A schema id in the records of a mirror topic, and both registries' answers.

    Attributes:
        topic: The topic at the source.
        target_topic: The mirror topic.
        part: The part of the records that the schema is for.
        id: The number or GUID.
        source_ids: The ids of the same records at the source.
        verdict: The verdict.
        why: Why it is not equal, "" if it is.
        records: How many records name it, of those that were looked at.
        partition: Partition of the first of them.
        offset: Its offset on the target.
    """

    topic: TopicName
    target_topic: TopicName
    part: Part
    id: RecordId
    source_ids: tuple[RecordId, ...]
    verdict: IdVerdict
    why: str
    records: int
    partition: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaProof:
    """The result for all schema ids in the records of a link.

    Attributes:
        ids: All ids.
        records: How many records were looked at.
        holes: What could not be looked at, as sentences.
        notes: What else a person should know, as sentences.
        requests: How many requests both registries got.
    """

    ids: tuple[IdAnswer, ...]
    records: int
    holes: tuple[str, ...]
    notes: tuple[str, ...]
    requests: int

    @property
    def equal(self) -> bool:
        """Whether the target's answer equals the source's for each schema id."""
        return not self.holes and all(each.verdict in PROVEN for each in self.ids)
