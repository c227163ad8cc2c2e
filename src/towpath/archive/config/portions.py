"""The part of an archive that a restore copies: ranges, filters, and target partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator

from towpath.model.changes import NO_CHANGE, RecordChange
from towpath.settings.naming import Expression, fits
from towpath.settings.problems import must_be, not_empty
from towpath.settings.sections.conditions import DropConfig, KeepConfig
from towpath.settings.sections.topics import Count
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.times import LIKE, parse_time

_MOST_OFFSET = 2**63 - 1
_MOST_PARTITIONS = 10_000
_BOUND = f"an offset, or {LIKE}"


@dataclass(frozen=True, slots=True)
class Bound:
    """A begin or end of a range: an offset, or a time.

    Attributes:
        offset: The offset; `None` for a time.
        time: The first record of each partition with this timestamp (ms since 1970) or a later one.
    """

    offset: int | None = None
    time: int | None = None


def parse_bound(value: object) -> Bound:
    """Parse a bound of a file or an option: digits are an offset, anything else is a time.

    Raises:
        ValueError: It is neither.
    """
    if isinstance(value, Bound):
        return value
    if isinstance(value, str):
        is_number = value.isascii() and value.isdigit()
        return _at_offset(int(value)) if is_number else Bound(time=parse_time(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return _at_offset(value)
    raise ValueError(must_be(_BOUND, value))


def _at_offset(offset: int) -> Bound:
    if not 0 <= offset <= _MOST_OFFSET:
        raise ValueError(f"{offset} is not an offset, which is from 0 to {_MOST_OFFSET}")
    return Bound(offset=offset)


def _told(bound: Bound) -> Any:
    return bound.offset if bound.time is None else str(bound.time)


AnyBound = Annotated[
    Bound,
    PlainValidator(parse_bound, json_schema_input_type=str | int),
    PlainSerializer(_told),
]


class RestoredRange(Section):
    """The offsets of each partition that a restore copies."""

    first: AnyBound | None = Field(
        None,
        alias="from",
        description="Where each partition begins: an offset (a number), or a time (ISO 8601 with a"
        " zone), which is the first record with this timestamp or a later one.",
    )
    end: AnyBound | None = Field(
        None,
        alias="to",
        description="Where each partition ends: the offset behind the last record, or a time; the"
        " first record with this timestamp or a later one does not come back, nor do those behind"
        " it.",
    )

    @property
    def is_whole(self) -> bool:
        """Whether the range covers every offset."""
        return self.first is None and self.end is None

    @contradictions
    def _ordered(self) -> Iterator[Placed]:
        first, end = self.first, self.end
        if first is not None and end is not None:
            for one, other in ((first.offset, end.offset), (first.time, end.time)):
                if one is not None and other is not None and one >= other:
                    yield Placed(("to",), "is not behind `from`, so the range is empty")


class RestoredFilter(Section):
    """A rule that selects the records of some topics to restore."""

    topics: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        description="Python regular expressions; an archived topic whose whole name matches one is"
        " meant, unless an earlier entry of `filter` names it."
    )
    keep: tuple[KeepConfig, ...] = Field(
        (),
        description="Rules of records that come back: those that one of these rules means. Without"
        " any, all do.",
    )
    drop: tuple[DropConfig, ...] = Field(
        (), description="Rules of records that do not come back, even if `keep` means them."
    )

    @contradictions
    def _rules(self) -> Iterator[Placed]:
        if not (self.keep or self.drop):
            yield Placed((), "has neither `keep` nor `drop`, so it would leave nothing out")

    def change(self) -> RecordChange:
        """Return the section as a change of records."""
        return RecordChange(
            drop=tuple(each.rule() for each in self.drop),
            keep=tuple(each.rule() for each in self.keep),
        )


def filter_of(sections: Iterable[RestoredFilter], topic: str) -> RecordChange:
    """Return the record filter of an archived topic: the first section that names the topic."""
    found = next((each for each in sections if fits(topic, each.topics)), None)
    return NO_CHANGE if found is None else found.change()


class Placement(StrEnum):
    """The ways to choose the target partition of a restored record."""

    SAME = "same"
    KEY = "key"


class RestoredPartitions(Section):
    """Partition count of some restored topics, and the rule that assigns records to partitions."""

    topics: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        description="Python regular expressions; an archived topic whose whole name matches one is"
        " meant, unless an earlier entry of `partitions` names it."
    )
    count: Annotated[Count, Field(ge=1, le=_MOST_PARTITIONS, strict=True)] = Field(
        description="Number of partitions of the restored topic.",
    )
    place: Placement = Field(
        Placement.SAME,
        description="Where records go: to the `same` partition, or by their `key`, as Java's"
        " default partitioner would place them among `count` partitions.",
    )


def partitions_of(sections: Iterable[RestoredPartitions], topic: str) -> RestoredPartitions | None:
    """Return the first section that names an archived topic."""
    return next((each for each in sections if fits(topic, each.topics)), None)
