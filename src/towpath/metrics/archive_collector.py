"""Converts the counts of an archive's run to metric families, anew for each scrape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from towpath.metrics import archive_names as names
from towpath.metrics import compaction
from towpath.metrics.archive import ArchiveMeter, ArchiveStand
from towpath.metrics.collector import family
from towpath.metrics.names import Metric
from towpath.metrics.stand import LIMIT
from towpath.model.nouns import Detail

_OF_SOURCE, _OF_STORE = "CLUSTER", "STORE"
"""What the codes of errors of the source and of the store begin with."""
_MISSING = "retention", "lost"
"""Kinds of gaps that mean missing records: told with 0, too, as alerts compare with before."""
Key = tuple[str, str]
"""Topic and partition as labels; empty where a series tells of all of them."""


@dataclass(frozen=True, slots=True)
class AboutArchive:
    """Facts about an archive that do not change while it runs.

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


class ArchiveCollector(Collector):
    """Collector that reads the meter of an archive for each scrape."""

    def __init__(self, meter: ArchiveMeter, about: AboutArchive) -> None:
        self._meter, self._about = meter, about

    def collect(self) -> Iterator[Family]:
        """Yield every metric, also those without a series now."""
        now, about = self._meter.read(), self._about
        info = (about.version, about.archive, about.region)
        detail = chosen(about.detail, now.stands)
        yield family(names.ARCHIVE_INFO, [(info, 1)])
        for metric, value in _THEIRS.items():
            sums = _summed(detail, now.stands, value)
            yield family(metric, (((about.region, *key), each) for key, each in sums.items()))
        for metric, value in _SUMS.items():
            yield family(metric, _summed(detail, now.stands, value).items())
        for metric, value in _OF_PARTITIONS.items():
            stands = now.stands if detail is Detail.PARTITION else ()
            yield family(metric, (((each.topic, str(each.partition)), value(each))
                                  for each in stands))  # fmt: skip
        yield family(names.EXPOSED, _most(detail, now.stands).items())
        yield family(names.ARCHIVE_GAPS, _gaps(detail, now.stands).items())
        numbers = Counter(each.state for each in now.stands)
        yield family(
            names.ARCHIVE_PARTITIONS, (((state,), numbers[state]) for state in about.states)
        )
        yield family(names.ARCHIVE_VERSION, [((), now.version)])
        yield family(names.LAST_COMMIT, [((), now.committed)] if now.committed else [])
        yield family(names.CYCLES, [((), now.cycles)])
        yield family(names.CYCLES_FAILED, (((why,), each) for why, each in now.failed.items()))
        yield from _failures(now.failures)
        yield family(names.ARCHIVE_THROTTLED, [((), now.throttled)])
        yield family(names.ARCHIVE_TROUBLE, [((), now.trouble)])
        for metric, read in compaction.READ.items():
            yield family(metric, [((), read(now.compaction))])


def _failures(found: Mapping[str, int]) -> Iterator[Family]:
    """Yield the metrics of errors: of the source, of the store, and of all by their codes."""
    of_store = sum(number for code, number in found.items() if code.startswith(_OF_STORE))
    of_source = sum(number for code, number in found.items() if code.startswith(_OF_SOURCE))
    yield family(names.SOURCE_ERRORS, [((), of_source)])
    yield family(names.STORE_ERRORS, [((), of_store)])
    yield family(names.FAILURES, (((code,), number) for code, number in found.items()))


def chosen(detail: Detail, stands: tuple[ArchiveStand, ...]) -> Detail:
    """Return the detail that is meant, which is never `AUTO`."""
    if detail is not Detail.AUTO:
        return detail
    if len(stands) <= LIMIT:
        return Detail.PARTITION
    return Detail.TOPIC if len({each.topic for each in stands}) <= LIMIT else Detail.LINK


def _key(detail: Detail, stand: ArchiveStand) -> Key:
    match detail:
        case Detail.LINK:
            return "", ""
        case Detail.TOPIC:
            return stand.topic, ""
        case _:
            return stand.topic, str(stand.partition)


def _summed(
    detail: Detail, stands: tuple[ArchiveStand, ...], value: Callable[[ArchiveStand], float]
) -> dict[Key, float]:
    added: dict[Key, float] = {}
    for each in stands:
        key = _key(detail, each)
        added[key] = added.get(key, 0.0) + value(each)
    return added


def _most(detail: Detail, stands: tuple[ArchiveStand, ...]) -> dict[Key, float]:
    found: dict[Key, float] = {}
    for each in stands:
        key = _key(detail, each)
        found[key] = max(found.get(key, 0.0), each.exposed)
    return found


def _gaps(detail: Detail, stands: tuple[ArchiveStand, ...]) -> dict[tuple[str, str, str], int]:
    added = Counter[tuple[str, str, str]]()
    for each in stands:
        for kind, offsets in (dict.fromkeys(_MISSING, 0) | dict(each.gaps)).items():
            added[(*_key(detail, each), kind)] += offsets
    return dict(added)
