"""The section `segments` of an archive: the limits at which a segment is complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from pydantic.types import Strict

from towpath.settings.naming import Expression, fits
from towpath.settings.sections.topics import Count
from towpath.settings.shape import Section
from towpath.settings.units import Duration, Size, between

Messages = Annotated[Count, Strict(), Field(ge=2, le=1_000_000_000)]
Bytes = Annotated[Size, between("64KiB", "4GiB")]
Age = Annotated[Duration, between("1s", "1d")]


@dataclass(frozen=True, slots=True)
class SegmentLimits:
    """The limits at which a segment of a topic is complete.

    Attributes:
        messages: How many records complete a segment.
        bytes: How many bytes complete it: keys, values, headers and 16 for each record.
        age: Seconds after which what is new at the source is archived, however little it is.
    """

    messages: int
    bytes: int
    age: float


class TopicLimits(Section):
    """Limits of some topics; omitted limits are those of the whole section."""

    max_messages: Messages | None = Field(None, description="As `segments.max_messages`.")
    max_bytes: Bytes | None = Field(None, description="As `segments.max_bytes`.")
    max_age: Age | None = Field(None, description="As `segments.max_age`.")


class SegmentsConfig(Section):
    """The limits at which a segment is complete, and which segments share an object."""

    max_messages: Messages = Field(
        Count(1_000_000),
        description="How many records complete a segment; it ends with the batch that reaches it.",
    )
    max_bytes: Bytes = Field(
        Size.parse("100MiB"),
        description="How many bytes complete a segment, before compression: keys, values, headers,"
        " and 16 for each record; it ends with the batch that reaches it.",
    )
    max_age: Age = Field(
        Duration.parse("5m"),
        description="How long a record may wait at the source until it is archived, however few"
        " there are: the most that a disaster takes.",
    )
    topics: dict[Expression, TopicLimits] = Field(
        default_factory=dict,
        description="Regular expressions, each with limits of its own for topics whose whole name"
        " matches; the first expression that matches counts.",
    )
    share: Annotated[Size, between("0B", "64MiB")] = Field(
        Size.parse("4MiB"),
        description="Segments of one topic that are smaller share objects with each other, as"
        " stores charge for each object; `0B` gives each an object of its own.",
    )

    def of(self, topic: str) -> SegmentLimits:
        """Return the segment limits of a topic."""
        own = next((each for name, each in self.topics.items() if fits(topic, (name,))), None)
        own = own or TopicLimits()
        return SegmentLimits(
            own.max_messages or self.max_messages,
            own.max_bytes or self.max_bytes,
            own.max_age or self.max_age,
        )
