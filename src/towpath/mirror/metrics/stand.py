"""The standing of partitions, and sums over it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from towpath.metering.detail import place_of
from towpath.model.nouns import Detail

Key = tuple[str, str]
"""Topic and partition as labels; empty where a series stands for all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """The standing of one source partition.

    Attributes:
        incarnation: Our producer id; another one begins with 0 records. -1 before the first.
        records: Records of this incarnation, whoever copied them; `bytes` likewise.
        lag_records: Source offsets to copy, `None` where that is not known.
        lag_seconds: Age of the last copied record while there is lag, `None` if not known.
        quarantined: Records that were put into quarantine, by kind of reason; `skipped` likewise.
        dropped: Records that a rule left out, by its name.
        rewritten: Parts of records that changes have written anew, by kind.
        unchanged: Ids of schemas that passed unchanged, by the code of the reason.
        from_archive: Records that came from an archive, as the source had deleted them.
        deleted: Records, at most, that the target deleted without leave and the source still has.
        unstable: Source offsets that an open transaction holds back.
        strays: Records that came to the source after a promotion, and are kept aside.
        unkept: Source offsets that came after a promotion, and are not kept aside.
    """

    topic: str
    partition: int
    state: str
    mapped: bool
    incarnation: int
    records: int
    bytes: int
    lag_records: int | None
    lag_seconds: float | None
    gaps: int
    gap_offsets: int
    quarantined: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    rewritten: Mapping[str, int] = field(default_factory=dict)
    unchanged: Mapping[str, int] = field(default_factory=dict)
    from_archive: int = 0
    deleted: int = 0
    unstable: int = 0
    strays: int = 0
    unkept: int = 0


@dataclass(slots=True)
class Sum:
    """Sums over several partitions."""

    lag_records: int | None = None
    lag_seconds: float | None = None
    untimed: int = 0
    gaps: int = 0
    gap_offsets: int = 0
    from_archive: int = 0
    deleted: int = 0
    unstable: int = 0
    strays: int = 0
    unkept: int = 0
    records: int = 0
    bytes: int = 0
    states: Counter[str] = field(default_factory=Counter)

    def add(self, stand: Stand) -> None:
        """Add the standing of one partition; `add_copied` adds its copied records."""
        if stand.lag_records is not None:
            self.lag_records = stand.lag_records + (self.lag_records or 0)
        if stand.lag_seconds is not None:
            self.lag_seconds = max(stand.lag_seconds, self.lag_seconds or 0.0)
        self.untimed += stand.lag_seconds is None
        self.gaps += stand.gaps
        self.gap_offsets += stand.gap_offsets
        self.from_archive += stand.from_archive
        self.deleted += stand.deleted
        self.unstable += stand.unstable
        self.strays += stand.strays
        self.unkept += stand.unkept
        self.states[stand.state] += 1

    @property
    def known_lag(self) -> float | None:
        """The largest known lag in seconds, `None` if no lag is known."""
        return None if self.untimed and not self.lag_seconds else self.lag_seconds

    def add_copied(self, copied: tuple[int, int]) -> None:
        """Add copied records and bytes."""
        self.records += copied[0]
        self.bytes += copied[1]


def sums(
    detail: Detail, stands: Iterable[Stand], copied: Mapping[tuple[str, int], tuple[int, int]]
) -> dict[Key, Sum]:
    """Return the sum of the partitions that share a series, by series.

    What was copied of partitions that are there no more stays in the sum of their topic and of the
    link, which thereby never becomes less.
    """
    added: dict[Key, Sum] = {}
    for stand in stands:
        added.setdefault(place_of(detail, stand.topic, stand.partition), Sum()).add(stand)
    for (topic, partition), done in copied.items():
        found = added.get(place_of(detail, topic, partition))
        if found is not None:
            found.add_copied(done)
    return added


def by_topic(
    detail: Detail, told: Iterable[tuple[str, Mapping[str, int]]]
) -> dict[tuple[str, str], int]:
    """Return sums by topic and another label; the topic is empty without series by topic.

    Args:
        detail: What has a series, never `AUTO`.
        told: Topics, and their numbers by that label, in any number.
    """
    added = Counter[tuple[str, str]]()
    for topic, numbers in told:
        for label, number in numbers.items():
            added["" if detail is Detail.LINK else topic, label] += number
    return dict(added)
