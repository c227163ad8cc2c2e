"""Measurements of a restore, from the counts of its meter. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from towpath.archive.metrics import restore_names as names
from towpath.archive.metrics.restore_meter import (
    QueueCounts,
    RestoreCounts,
    RestoreMeter,
    RestoreStand,
)
from towpath.metering.detail import added_up, chosen, greatest, place_of
from towpath.metering.measurement import Measurement, alone
from towpath.metering.metric import Metric
from towpath.model.nouns import Detail

_Value = Callable[[RestoreStand], float]
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
    """Constant facts about a running restore.

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


def measured(meter: RestoreMeter, about: AboutRestore) -> Iterator[Measurement]:
    """Yield every metric of a restore, including those without a series at present.

    Args:
        meter: The meter with all counts.
        about: What does not change while it runs.
    """
    now = meter.read()
    detail = chosen(about.detail, now.stands)
    counted = {
        names.MESSAGES_PRODUCED: meter.produced,
        names.SEGMENTS_READ: meter.read_segments,
    }
    told = {**counted, **_THEIRS, **_SUMS}
    for metric, value in told.items():
        yield Measurement(metric, added_up(now.stands, partial(_labels, detail), value).items())
    yield from _waiting(detail, now.stands)
    yield from _offsets(now.stands if detail is Detail.PARTITION else ())
    yield Measurement(names.RESTORE_INFO, [((about.version, about.restore), 1)])
    numbers = Counter(each.state for each in now.stands)
    yield Measurement(
        names.RESTORE_PARTITIONS, (((state,), numbers[state]) for state in about.states)
    )
    yield alone(names.TARGET_ERRORS, meter.refusals)
    yield alone(names.STORE_ERRORS, meter.store_errors)
    yield from _whole(now)


def _waiting(detail: Detail, stands: tuple[RestoreStand, ...]) -> Iterator[Measurement]:
    """Yield metrics of segments that are not restored, as far as it is known which."""
    known = tuple(each for each in stands if each.waiting is not None)
    labels = partial(_labels, detail)
    waiting = added_up(known, labels, lambda each: each.waiting or 0)
    yield Measurement(names.SEGMENTS_WAITING, waiting.items())
    yield Measurement(names.INGRESS_LAG, greatest(known, labels, lambda each: each.lag).items())


def _offsets(stands: Iterable[RestoreStand]) -> Iterator[Measurement]:
    """Yield metrics of offsets, which have no sum."""
    places = [(_labels(Detail.PARTITION, each), each.restored_to) for each in stands]
    yield Measurement(names.RESTORED_TO, places)
    yield Measurement(names.CHECKPOINT, ((place, to - 1) for place, to in places if to > 0))


def _whole(now: RestoreCounts) -> Iterator[Measurement]:
    """Yield metrics of the restore as a whole."""
    yield alone(names.RESTORE_BYTES, now.bytes)
    yield alone(names.RESTORED_BYTES, now.done_bytes)
    yield alone(names.RESTORE_RATE, now.rate)
    yield alone(names.RESTORE_ETA, now.seconds_left)
    yield alone(names.RESTORE_LEFT_OUT, now.left_out)
    yield alone(names.RESTORE_TROUBLE, now.trouble)
    yield from _messages(now.queue)


def _messages(counts: QueueCounts | None) -> Iterator[Measurement]:
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
        yield alone(metric, None if counts is None else value)
    yield alone(names.SQS_LAG, known.lag)


def _labels(detail: Detail, stand: RestoreStand) -> tuple[str, str, str, str]:
    return stand.region, stand.source, *place_of(detail, stand.topic, stand.partition)
