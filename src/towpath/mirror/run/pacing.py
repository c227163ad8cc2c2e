"""The distribution of rate limits (`run.max_rate`, `towpath rate`) among running slices."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from towpath.ledger.entries import WHOLE_LINK, Paced, Share, Used
from towpath.ledger.link import OpenLink
from towpath.ledger.rates import Limits
from towpath.mirror.run.deals import Table
from towpath.mirror.run.sharing import Need, shares
from towpath.model.nouns import TopicName
from towpath.model.rates import RateLimits
from towpath.records.session import LinkSession
from towpath.records.work import CopySlice

_ALIKE = 0.02
"""Part of a share by which it may change without being told."""
_AGAIN = 10.0
"""Seconds after which a share is told again, in case a slice has begun anew meanwhile."""

_Slot = tuple[int, int]
"""A round and the number of a slice in it."""


@dataclass(slots=True)
class _Heard:
    """The last report of a slice, and the needs in it.

    Attributes:
        report: Its last report.
        needs: Its needs, by source topic; that of the link as a whole under `WHOLE_LINK`.
    """

    report: Paced
    needs: Mapping[TopicName, Need] = field(default_factory=dict)


class Pacing:
    """Assigns each slice its share of the rate limits.

    Args:
        link: The link; its books are read elsewhere.
        session: Hears of the slices and tells them.
    """

    def __init__(self, link: OpenLink, session: LinkSession) -> None:
        self._link, self._session = link, session
        self._heard: dict[_Slot, _Heard] = {}
        self._told: dict[_Slot, tuple[RateLimits, float]] = {}
        """The last share of each slice, and when it was told."""
        self._waited = defaultdict[TopicName, float](float)

    @property
    def limits(self) -> Limits:
        """The rate limits in force."""
        return Limits.of(self._link.config, self._link.books)

    @property
    def waited(self) -> Mapping[TopicName, float]:
        """Seconds that slices have waited for each limit so far, all slices together."""
        return self._waited

    def holds_back(self, topic: TopicName) -> bool:
        """Return whether a source topic would be copied faster without its limits."""
        return any(
            need.hungry
            for each in self._heard.values()
            for name, need in each.needs.items()
            if name in {topic, WHOLE_LINK}
        )

    @property
    def waiting(self) -> tuple[str, ...]:
        """A sentence for each limit that slices wait for now."""
        found: dict[TopicName, float] = {}
        for each in [*self._heard.values()]:
            for name, need in each.needs.items():
                if need.hungry:
                    found[name] = max(found.get(name, 0.0), min(1.0, need.waits))
        return tuple(
            f"waiting for the limit of {f'topic {name}' if name else 'the link'}"
            f" {part:.0%} of the time"
            for name, part in sorted(found.items())
        )

    def begin(self, slices: Sequence[CopySlice], number: int) -> list[CopySlice]:
        """Return the slices of a new round with their shares; any thread may call this."""
        if not self.limits:
            return [*slices]
        rates = self._shares(Table.of(slices, number, settled=True))
        self._told |= {(number, n): (each, time.monotonic()) for n, each in enumerate(rates)}
        return [replace(each, rates=rates[n]) for n, each in enumerate(slices)]

    def look(self, tables: Collection[Table]) -> None:
        """Read the slices' reports, and send them their shares where these have changed.

        Args:
            tables: The slices of the rounds that go on.

        Raises:
            ClusterError: The ledger could not be written.
        """
        if not (self.limits or any(rates for rates, _ in [*self._told.values()])):
            self._heard.clear()
            self._session.paced.clear()
            return
        self._listen({table.round for table in tables})
        entries = [entry for table in tables for entry in self._due(table)]
        if entries:
            self._session.deal(entries)
        now = time.monotonic()
        self._told |= {(each.round, each.slice): (each.rates, now) for each in entries}

    def _listen(self, rounds: Collection[int]) -> None:
        for slot, report in [*self._session.paced.items()]:
            last = self._heard.get(slot)
            if slot[0] not in rounds:
                self._session.paced.pop(slot, None)
            elif last is None or last.report is not report:
                self._hear(slot, last.report if last else None, report)
        for slot in [
            slot for slot in {*self._heard, *self._told} if slot[0] < min(rounds, default=0)
        ]:
            self._heard.pop(slot, None)
            self._told.pop(slot, None)

    def _hear(self, slot: _Slot, before: Paced | None, report: Paced) -> None:
        known, told = _uses(before), _uses(report)
        seconds = max(0.1, (report.at - before.at) / 1000) if before is not None else 1.0
        needs = {name: Need.between(known.get(name), use, seconds) for name, use in told.items()}
        self._heard[slot] = _Heard(report, needs)
        for name, need in needs.items():
            self._waited[name] += max(0.0, need.waits * seconds)

    def _due(self, table: Table) -> Iterable[Share]:
        """Yield the shares of the slices of a round that are to be told."""
        for number, rates in enumerate(self._shares(table)):
            last, at = self._told.get((table.round, number), (RateLimits(), time.monotonic()))
            stale = bool(rates) and time.monotonic() - at > _AGAIN
            if stale or not _alike(last, rates):
                yield Share(
                    link=self._link.config.link,
                    run_id=self._session.run_id,
                    round=table.round,
                    slice=number,
                    rates=rates,
                )

    def _shares(self, table: Table) -> list[RateLimits]:
        topics = [{tp.topic for tp in [*hand.held]} for hand in table.hands]
        whole = self.limits.rates(set[TopicName]().union(*topics))
        every = range(len(topics))
        of_link = self._share(table.round, whole.link, WHOLE_LINK, every, topics)
        of_topics: list[dict[TopicName, float]] = [{} for _ in every]
        for name, rate in whole.topics.items():
            holders = [number for number in every if name in topics[number]]
            for number, share in self._share(table.round, rate, name, holders, topics).items():
                of_topics[number][name] = share
        return [RateLimits(of_link.get(number), of_topics[number]) for number in every]

    def _share(
        self,
        number: int,
        rate: float | None,
        name: TopicName,
        slices: Sequence[int],
        topics: Sequence[Collection[TopicName]],
    ) -> dict[int, float]:
        """Return the share of each of these slices of a round, none if there is no limit."""
        if rate is None:
            return {}
        needs = [self._need((number, each), name) if topics[each] else _NONE for each in slices]
        return dict(zip(slices, shares(rate, needs), strict=True))

    def _need(self, slot: _Slot, name: TopicName) -> Need | None:
        heard = self._heard.get(slot)
        return heard.needs.get(name) if heard is not None else None


_NONE = Need(0.0, 0.0)
"""What a slice without partitions needs."""


def _uses(report: Paced | None) -> Mapping[TopicName, Used]:
    if report is None:
        return {}
    whole = {WHOLE_LINK: report.whole} if report.whole is not None else {}
    return {**report.topics, **whole}


def _alike(one: RateLimits, other: RateLimits) -> bool:
    """Whether two shares differ so little that the newer one need not be told."""
    if (one.link is None) != (other.link is None) or one.topics.keys() != other.topics.keys():
        return False
    pairs = [(rate, other.topics[name]) for name, rate in one.topics.items()]
    pairs += [(one.link, other.link)] if one.link is not None and other.link is not None else []
    return all(abs(a - b) <= _ALIKE * b for a, b in pairs)
