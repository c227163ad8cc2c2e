"""The display of rate limits in bytes per second, for people and programs. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from towpath.ledger.entries import WHOLE_LINK
from towpath.ledger.rates import Limits
from towpath.mirror.show.status_shapes import FileRatesJson, RatesJson, SetRateJson
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.totals import bytes_behind
from towpath.model.nouns import TopicName


def as_data(limits: Limits) -> RatesJson:
    """Return rate limits for programs: in force, in the file, and set later."""
    config = limits.config
    return RatesJson(
        link=_number(limits.link),
        file=FileRatesJson(
            link=_number(config.link),
            topics={pattern: int(rate) for pattern, rate in config.topics.items()},
        ),
        set=[
            SetRateJson(
                topic=None if each.topic == WHOLE_LINK else each.topic,
                rate=each.rate or None,
                user=each.user,
                host=each.host,
                at=each.at,
            )
            for each in limits.set.values()
        ],
    )


def least_seconds(limits: Limits, rows: Iterable[PartitionStatus]) -> float | None:
    """Return the least time for the lag under the rate limits, `None` without a limit."""
    behind: defaultdict[TopicName, float] = defaultdict(float)
    for row in rows:
        if row.state is not State.EXCLUDED:
            behind[row.topic] += bytes_behind(row)
    rates = limits.rates(behind)
    found = [behind[name] / rate for name, rate in rates.topics.items()]
    found += [sum(behind.values()) / rates.link] if rates.link is not None else []
    return max(found, default=0.0) or None


def _number(rate: int | None) -> int | None:
    return None if rate is None else int(rate)
