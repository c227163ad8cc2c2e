"""Converts the counts of a restore to metric families, anew for each scrape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from towpath.metrics import restore_names as names
from towpath.metrics.collector import family
from towpath.metrics.names import Metric
from towpath.metrics.restore import QueueCounts, RestoreCounts, RestoreMeter, RestoreStand
from towpath.metrics.stand import LIMIT
from towpath.model.nouns import Detail

_Value = Callable[[RestoreStand], float]
_Labels = tuple[str, str, str, str]
_SUMS: Mapping[Metric, _Value] = {
    names.RESTORE_LAG: lambda each: max(0, each.end - each.restored_to),
    names.RESTORE_LOST: lambda each: each.lost,
}
_THEIRS: Mapping[Metric, _Value] = {
    names.MESSAGES_LOST: lambda each: each.lost,
    names.SEGMENTS_LOST: lambda each: each.gaps,
    names.SEGMENTS_LATE: lambda each: each.late,
}


@dataclass(frozen=True, slots=True)
class AboutRestore:
    """Facts about a restore that do not change while it runs.

    Attributes:
        version: The version of Towpath.
        restore: The name of the restore.
        detail: What has series of its own.
        states: All states of a partition.
    """

    version: str
    restore: str
    detail: Detail
    states: tuple[str, ...]


class RestoreCollector(Collector):
    """Collector that reads the meter of a restore for each scrape."""

    def __init__(self, meter: RestoreMeter, about: AboutRestore) -> None:
        self._meter, self._about = meter, about

    def collect(self) -> Iterator[Family]:
        """Yield every metric, also those without a series now."""
        now, about = self._meter.read(), self._about
        detail = _chosen(about.detail, now.stands)
        counted = {
            names.MESSAGES_PRODUCED: self._meter.produced,
            names.SEGMENTS_READ: self._meter.read_segments,
        }
        told = {**counted, **_THEIRS, **_SUMS}
        for metric, value in told.items():
            yield family(metric, _summed(detail, now.stands, value).items())
        yield from _waiting(detail, now.stands)
        yield from _offsets(now.stands if detail is Detail.PARTITION else ())
        yield family(names.RESTORE_INFO, [((about.version, about.restore), 1)])
        numbers = Counter(each.state for each in now.stands)
        yield family(
            names.RESTORE_PARTITIONS, (((state,), numbers[state]) for state in about.states)
        )
        yield family(names.TARGET_ERRORS, [((), self._meter.refusals)])
        yield family(names.STORE_ERRORS, [((), self._meter.store_errors)])
        yield from _whole(now)


def _waiting(detail: Detail, stands: tuple[RestoreStand, ...]) -> Iterator[Family]:
    """Yield metrics of segments that are not restored, as far as it is known which."""
    known = tuple(each for each in stands if each.waiting is not None)
    waiting = _summed(detail, known, lambda each: each.waiting or 0)
    yield family(names.SEGMENTS_WAITING, waiting.items())
    most: dict[_Labels, float] = {}
    for each in known:
        place = _place(detail, each)
        most[place] = max(most.get(place, 0.0), each.lag)
    yield family(names.INGRESS_LAG, most.items())


def _offsets(stands: Iterable[RestoreStand]) -> Iterator[Family]:
    """Yield metrics of offsets, which have no sum."""
    places = [(_place(Detail.PARTITION, each), each.restored_to) for each in stands]
    yield family(names.RESTORED_TO, places)
    yield family(names.CHECKPOINT, ((place, to - 1) for place, to in places if to > 0))


def _whole(now: RestoreCounts) -> Iterator[Family]:
    """Yield metrics of the restore as a whole."""
    yield family(names.RESTORE_BYTES, [((), now.bytes)])
    yield family(names.RESTORED_BYTES, [((), now.done_bytes)])
    yield family(names.RESTORE_RATE, [((), now.rate)])
    left = [] if now.seconds_left is None else [((), now.seconds_left)]
    yield family(names.RESTORE_ETA, left)
    yield family(names.RESTORE_LEFT_OUT, [((), now.left_out)])
    yield family(names.RESTORE_TROUBLE, [((), now.trouble)])
    yield from _messages(now.queue)


def _messages(counts: QueueCounts | None) -> Iterator[Family]:
    """Yield metrics of the queue that tells of new objects."""
    known = counts or QueueCounts()
    told = (
        (names.SQS_RECEIVED, known.received),
        (names.SQS_SUCCESS, known.received - known.invalid),
        (names.SQS_INVALID, known.invalid),
        (names.SQS_FAILED, known.failed),
        (names.SQS_ERRORS, known.errors),
    )
    for metric, value in told:
        yield family(metric, [] if counts is None else [((), value)])
    yield family(names.SQS_LAG, [] if known.lag is None else [((), known.lag)])


def _chosen(detail: Detail, stands: tuple[RestoreStand, ...]) -> Detail:
    """Return the detail that is meant, which is never `AUTO`."""
    if detail is not Detail.AUTO:
        return detail
    if len(stands) <= LIMIT:
        return Detail.PARTITION
    return Detail.TOPIC if len({each.topic for each in stands}) <= LIMIT else Detail.LINK


def _summed(
    detail: Detail, stands: tuple[RestoreStand, ...], value: _Value
) -> dict[_Labels, float]:
    added: dict[_Labels, float] = {}
    for each in stands:
        key = _place(detail, each)
        added[key] = added.get(key, 0.0) + value(each)
    return added


def _place(detail: Detail, stand: RestoreStand) -> _Labels:
    """Return the labels of a partition."""
    topic = "" if detail is Detail.LINK else stand.topic
    partition = str(stand.partition) if detail is Detail.PARTITION else ""
    return stand.region, stand.source, topic, partition
