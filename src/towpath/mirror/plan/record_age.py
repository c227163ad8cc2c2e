"""The age of the records to copy, compared with the target's memory of producers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towpath.cluster.admin import Admin
from towpath.model.amounts import span
from towpath.model.errors import ClusterError
from towpath.model.findings import Note
from towpath.model.nouns import TopicPartition
from towpath.records.source.beginnings import PATIENCE
from towpath.runtime.clock import now_ms

_EXPIRATION = "producer.id.expiration.ms"
_DEFAULT_MS = 86_400_000
_MANY = 2000


def history(source: Admin, target: Admin, begins: Mapping[TopicPartition, int]) -> Iterator[Note]:
    """Yield the topics with records older than the target's memory of producer ids.

    A broker forgets a producer id by the time of its last batch (Kafka's
    `ProducerStateManager.isProducerExpired`), which here is the time of the copied records. If
    there are very many partitions, only one of each topic is looked at.

    Args:
        source: Asked for offsets by time.
        target: Asked for its config.
        begins: The first source offset to copy of each new partition.
    """
    if not begins:
        return
    one = {tp.topic: tp for tp in sorted(begins, reverse=True)}
    tps = sorted(begins if len(begins) <= _MANY else one.values())
    told = _expiration(target)
    limit, now = _DEFAULT_MS if told is None else told, now_ms()
    young = source.offsets.at_time(tps, now - limit, patience=PATIENCE)
    old = [tp for tp in tps if young.get(tp, 0) > begins[tp]]
    times = source.offsets.first_times(old, patience=PATIENCE)
    ages = {tp: now - ms for tp, ms in times.items() if 0 <= ms <= now - limit}
    yield from _told(ages, limit, "" if told is not None else ", Kafka's default: it is hidden")


def _expiration(target: Admin) -> int | None:
    """Return how long brokers remember a producer id, in ms; `None` if the config is hidden."""
    try:
        told = target.cluster.broker_config(_EXPIRATION)
    except ClusterError:
        return None
    return None if told is None else int(told)


def _told(ages: Mapping[TopicPartition, int], limit: int, hidden: str) -> Iterator[Note]:
    """Return a note about each topic of these partitions, given their ages in ms."""
    oldest = span(max(ages.values(), default=0) / 1000)
    text = (
        f"history is up to {oldest} old, older than the target's {_EXPIRATION}"
        f" ({span(limit / 1000)}{hidden}), so the target forgets the link's producer ids while it"
        " takes these records; nothing is lost or doubled, and the speed is the same as long as"
        " connections hold; after a lost connection those of these partitions whose offsets stay"
        " identical wait about one `request_timeout`, until nothing that was sent before can still"
        " arrive"
    )
    for topic in sorted({tp.topic for tp in ages}):
        yield Note(topic, text)
