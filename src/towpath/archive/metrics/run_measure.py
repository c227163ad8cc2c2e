"""Measurements of an archive's run, from the counts of its meter. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from towpath.archive.metrics import compaction
from towpath.archive.metrics import run_names as names
from towpath.archive.metrics.run_meter import ArchiveCounts, ArchiveStand
from towpath.metering.detail import added_up, chosen, greatest, place_of
from towpath.metering.measurement import Measurement, alone, labelled
from towpath.metering.metric import Metric
from towpath.model.nouns import Detail

_OF_SOURCE, _OF_STORE = "CLUSTER", "STORE"
"""What the codes of errors of the source and of the store begin with."""
_MISSING = "retention", "lost"
"""Kinds of gaps that mean missing records: told with 0, too, as alerts compare with before."""


@dataclass(frozen=True, slots=True)
class AboutArchive:
    """Constant facts about an archive's run.

    Attributes:
        version: The version of Towpath.
        archive: The archive.
        region: Its region.
        detail: What has series of its own.
        states: All states of a partition.
    """

    version: str
    archive: str
    region: str
    detail: Detail
    states: tuple[str, ...]


_SUMS: Mapping[Metric, Callable[[ArchiveStand], float]] = {
    names.ARCHIVE_LAG: lambda each: each.lag,
    names.ARCHIVE_LAG_BYTES: lambda each: each.lag_bytes,
    names.ARCHIVE_CUTS: lambda each: each.cuts,
}
_OF_PARTITIONS: Mapping[Metric, Callable[[ArchiveStand], float]] = {
    names.ARCHIVED_TO: lambda each: each.archived_to,
    names.STABLE_END: lambda each: each.stable_end,
}
"""Offsets, which have no sum: they are told where each partition has series of its own."""
_THEIRS: Mapping[Metric, Callable[[ArchiveStand], float]] = {
    names.MESSAGES_CONSUMED: lambda each: each.records + each.redundant,
    names.MESSAGES_WRITTEN: lambda each: each.records,
    names.MESSAGES_REWINDED: lambda each: each.redundant,
    names.SEGMENTS_WRITTEN: lambda each: each.segments,
    names.SEGMENTS_REWINDED: lambda each: each.rewound,
}


def measured(now: ArchiveCounts, about: AboutArchive) -> Iterator[Measurement]:
    """Yield every metric of an archive's run, including those without a series at present.

    Args:
        now: All counts.
        about: What does not change while it runs.
    """
    info = (about.version, about.archive, about.region)
    detail = chosen(about.detail, now.stands)

    def place(each: ArchiveStand) -> tuple[str, str]:
        return place_of(detail, each.topic, each.partition)

    yield Measurement(names.ARCHIVE_INFO, [(info, 1)])
    for metric, value in _THEIRS.items():
        sums = added_up(now.stands, place, value)
        yield Measurement(metric, (((about.region, *key), each) for key, each in sums.items()))
    for metric, value in _SUMS.items():
        yield Measurement(metric, added_up(now.stands, place, value).items())
    for metric, value in _OF_PARTITIONS.items():
        stands = now.stands if detail is Detail.PARTITION else ()
        yield Measurement(metric, (((each.topic, str(each.partition)), value(each))
                              for each in stands))  # fmt: skip
    yield Measurement(names.EXPOSED, greatest(now.stands, place, lambda each: each.exposed).items())
    yield Measurement(names.ARCHIVE_GAPS, _gaps(now.stands, place).items())
    numbers = Counter(each.state for each in now.stands)
    yield Measurement(
        names.ARCHIVE_PARTITIONS, (((state,), numbers[state]) for state in about.states)
    )
    yield alone(names.ARCHIVE_VERSION, now.version)
    yield alone(names.LAST_COMMIT, now.committed or None)
    yield alone(names.CYCLES, now.cycles)
    yield labelled(names.CYCLES_FAILED, now.failed)
    yield from _failures(now.failures)
    yield alone(names.ARCHIVE_THROTTLED, now.throttled)
    yield alone(names.ARCHIVE_TROUBLE, now.trouble)
    for metric, read in compaction.READ.items():
        yield alone(metric, read(now.compaction))


def _failures(found: Mapping[str, int]) -> Iterator[Measurement]:
    """Yield the metrics of errors: of the source, of the store, and of all by their codes."""
    of_store = sum(number for code, number in found.items() if code.startswith(_OF_STORE))
    of_source = sum(number for code, number in found.items() if code.startswith(_OF_SOURCE))
    yield alone(names.SOURCE_ERRORS, of_source)
    yield alone(names.STORE_ERRORS, of_store)
    yield labelled(names.FAILURES, found)


def _gaps(
    stands: Iterable[ArchiveStand], place: Callable[[ArchiveStand], tuple[str, str]]
) -> dict[tuple[str, str, str], int]:
    added = Counter[tuple[str, str, str]]()
    for each in stands:
        for kind, offsets in (dict.fromkeys(_MISSING, 0) | dict(each.gaps)).items():
            added[(*place(each), kind)] += offsets
    return dict(added)
