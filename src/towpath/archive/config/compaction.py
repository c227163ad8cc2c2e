"""The section `compaction` of an archive: which segments are merged into larger ones, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, Field, StrictBool
from pydantic.types import Strict

from towpath.settings.cron import Cron
from towpath.settings.naming import Expression, fits
from towpath.settings.problems import not_empty
from towpath.settings.sections.topics import Count
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.units import Duration, Size, between

_HIGHEST = 98


def _zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError(f"{name[:40]!r} is not a time zone, such as UTC or Europe/Berlin")
    return name


class CompactionConfig(Section):
    """One rule: which segments are merged into larger ones of the next level, and when."""

    topics: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        (".*",), description="Regular expressions; the rule is for topics whose whole name matches."
    )
    min_level: Annotated[Count, Strict(), Field(ge=0, le=_HIGHEST)] = Field(
        Count(0), description="The lowest level whose segments are merged; 0 is that of `run`."
    )
    max_level: Annotated[Count, Strict(), Field(ge=0, le=_HIGHEST)] = Field(
        Count(0),
        description="The highest such level. The result has the level after that of its inputs.",
    )
    min_age: Annotated[Duration, between("0s", "3650d")] = Field(
        Duration.parse("1h"), description="Segments younger than this are left alone."
    )
    max_age: Annotated[Duration, between("1s", "3650d")] = Field(
        Duration.parse("1d"),
        description="Segments that are older are merged even if they are fewer than `min_count` and"
        " smaller than `min_size`, so that quiet partitions are compacted, too.",
    )
    min_count: Annotated[Count, Strict(), Field(ge=2, le=1_000_000)] = Field(
        Count(10), description="So many segments in a row are merged, however small they are."
    )
    max_count: Annotated[Count, Strict(), Field(ge=2, le=1_000_000)] = Field(
        Count(10_000), description="The most segments in one result."
    )
    min_size: Annotated[Size, between("1B", "1024GiB")] = Field(
        Size.parse("1GiB"), description="So many bytes of objects are merged, however few they are."
    )
    max_size: Annotated[Size, between("1B", "1024GiB")] = Field(
        Size.parse("4GiB"), description="The most bytes of one result."
    )
    batch: Annotated[Count, Strict(), Field(ge=1, le=10_000_000)] = Field(
        Count(10_000), description="Records that are decoded at a time, where they must be decoded."
    )
    delete: StrictBool = Field(
        True,
        description="Whether merged segments are deleted, once every registered reader has passed"
        " them; otherwise their objects stay.",
    )
    schedule: Cron | None = Field(
        None,
        description="When the rule is applied, as in cron: `0 0 1 * * *` (seconds first; five"
        " fields have no seconds) or `@daily`. Default: only by hand.",
    )
    zone: Annotated[str, AfterValidator(_zone)] = Field(
        "UTC", description="Time zone of `schedule`, such as `Europe/Berlin`."
    )
    parallelism: Annotated[Count, Strict(), Field(ge=1, le=10_000)] | None = Field(
        None,
        description="Partitions that are compacted at a time. Default: as many as slices run at a"
        " time.",
    )

    @contradictions
    def _not_below(self) -> Iterator[Placed]:
        for part in ("level", "age", "count", "size"):
            least, most = getattr(self, f"min_{part}", None), getattr(self, f"max_{part}", None)
            if least is not None and most is not None and most < least:
                yield Placed((f"max_{part}",), f"{most} is less than min_{part}, {least}")

    @property
    def time_zone(self) -> ZoneInfo:
        """The time zone of the schedule."""
        return ZoneInfo(self.zone)

    def concerns(self, topic: str) -> bool:
        """Return whether the rule is for a topic."""
        return fits(topic, self.topics)
