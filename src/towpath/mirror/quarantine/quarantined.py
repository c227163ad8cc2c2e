"""The records of a link that are in quarantine, or were skipped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache

from towpath.cluster.data.client import Client
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.quarantine.format import QuarantinedRecord
from towpath.ledger.quarantine.reader import InQuarantine, QuarantineReader
from towpath.ledger.wishes import read_begun
from towpath.model.changes import Undeliverable
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import QUARANTINE, Side, SourceOffset, TopicName, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.settings import LinkConfig

_REFUSED = frozenset({ReasonCode.RECORD_TOO_LARGE, ReasonCode.RECORD_REFUSED})
"""Reasons that a decision in the ledger follows."""
Group = tuple[TopicName, str]
"""A source topic and the code of a reason."""

_ID = re.compile(r"(?P<topic>[A-Za-z0-9._-]+)-(?P<partition>\d{1,10})@(?P<offset>\d{1,19})")


@dataclass(frozen=True, slots=True)
class RecordId:
    """The display id of a record: source partition and offset, as in `orders-3@4711`."""

    tp: TopicPartition
    offset: SourceOffset

    @classmethod
    def of(cls, text: str) -> RecordId:
        """Parse the text of a record id.

        Raises:
            ConfigError: It means none.
        """
        found = _ID.fullmatch(text)
        if found is None:
            why = f"{text[:100]!r} is no record; name one such as orders-3@4711, as `ls` does"
            raise ConfigError((ConfigProblem("RECORD", why),))
        tp = TopicPartition(TopicName(found["topic"]), int(found["partition"]))
        return cls(tp, SourceOffset(int(found["offset"])))

    def __str__(self) -> str:
        return f"{self.tp}@{self.offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """A filter for quarantined records; all given conditions must hold.

    Attributes:
        ids: They are one of these.
        topics: Their source topic is one of these.
        reasons: The code of their reason is one of these.
        is_open: Whether they can be replayed and were not, or the other way round.
    """

    ids: frozenset[RecordId] = frozenset()
    topics: frozenset[TopicName] = frozenset()
    reasons: frozenset[str] = frozenset()
    is_open: bool | None = None

    def takes(self, one: InQuarantine) -> bool:
        """Return whether the filter selects a record."""
        return (
            (not self.ids or RecordId(one.key.tp, one.key.offset) in self.ids)
            and (not self.topics or one.key.topic in self.topics)
            and self.takes_reason(one.why.kind)
            and (self.is_open is None or self.is_open == one.is_open)
        )

    def takes_reason(self, code: str) -> bool:
        """Return whether the filter selects records with this code of a reason."""
        return not self.reasons or code in self.reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRecords:
    """Counts of one source topic's records that were left out for one reason.

    Attributes:
        topic: The source topic.
        reason: The code of the reason.
        quarantined: How many are in the quarantine topic.
        replayed: How many of these were replayed.
        outdated: How many others of these were copied or set aside again since.
        skipped: How many were left out without a copy.
    """

    topic: TopicName
    reason: str
    quarantined: int = 0
    replayed: int = 0
    outdated: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineLook:
    """The quarantined records of a link, and the number of skipped ones.

    Attributes:
        link: The link.
        topic: Whether the quarantine topic exists.
        records: The records that are meant, in the order in which they were set aside.
        skipped: How many records were skipped, by source topic and code of the reason.
        foreign: How many records of the topic cannot be read by this version.
    """

    link: str
    topic: bool
    records: tuple[InQuarantine, ...]
    skipped: Mapping[Group, int] = field(default_factory=dict)
    foreign: int = 0

    @property
    def counts(self) -> Sequence[CountedRecords]:
        """Counts of the records, by source topic and reason."""
        held, done, old = Counter[Group](), Counter[Group](), Counter[Group]()
        for each in self.records:
            group = each.key.topic, each.why.kind
            held[group] += 1
            done[group] += each.replay is not None
            old[group] += each.outdated and each.replay is None
        return [
            CountedRecords(
                topic=topic,
                reason=reason,
                quarantined=held[topic, reason],
                replayed=done[topic, reason],
                outdated=old[topic, reason],
                skipped=self.skipped.get((topic, reason), 0),
            )
            for topic, reason in sorted({*held, *self.skipped})
        ]


@dataclass(frozen=True, slots=True)
class OpenQuarantine:
    """A link with its quarantine topic.

    Attributes:
        link: The link; the facts of its ledger are read.
        client: A client of the target.
        reader: Reads the topic.
    """

    link: OpenLink
    client: Client
    reader: QuarantineReader

    def records(self) -> tuple[InQuarantine, ...]:
        """Return all quarantined records of the link, each once, in order.

        Raises:
            ClusterError: The target cannot be reached.
        """
        return known_records(self.reader.overview(self.link.config.link).values(), self.link.books)


def known_records(found: Iterable[InQuarantine], books: LinkBooks) -> tuple[InQuarantine, ...]:
    """Return records with the ledger's facts: outdated ones marked, each record once.

    After a repair, a source record may have been set aside under two incarnations. A record that
    the target refused may have been copied after all, if its copier was killed before it could
    decide to leave it out, and the target's limit was raised then.
    """
    known: dict[tuple[TopicPartition, SourceOffset, bool], InQuarantine] = {}
    lacking = cache(lambda tp: _lacking(books.of(tp)))
    for each in found:
        decided = each.why.code not in _REFUSED or each.key.offset in lacking(each.key.tp)
        outdated = each.key.producer_id not in books.of(each.key.tp).own or not decided
        place = each.key.tp, each.key.offset, outdated
        before = known.pop(place, None)
        replay = each.replay or (before.replay if before is not None else None)
        known[place] = replace(each, outdated=outdated, replay=replay)
    return tuple(known.values())


def _lacking(books: PartitionBooks) -> frozenset[SourceOffset]:
    """Return the source offsets that are decided to be left out."""
    decisions = (*books.refused, *books.pending)
    return frozenset(
        SourceOffset(offset) for each in decisions for offset in range(each.first, each.end)
    )


@contextmanager
def open_quarantine(config: LinkConfig) -> Iterator[OpenQuarantine]:
    """Open the quarantine of a link. The source is not needed.

    Raises:
        ClusterError: The target cannot be reached.
        LedgerError: The link never ran.
    """
    with ExitStack() as stack:
        link = stack.enter_context(open_link(config))
        read_begun(link)
        client = stack.enter_context(Client(config.target, Side.TARGET, link.target))
        yield OpenQuarantine(link, client, QuarantineReader(link.target, client))


def look_at_quarantine(config: LinkConfig, wanted: RecordFilter) -> QuarantineLook:
    """Return the selected quarantined records, and the number of skipped ones.

    Raises:
        ClusterError: The target cannot be reached.
        LedgerError: The link never ran.
    """
    with open_quarantine(config) as here:
        return QuarantineLook(
            link=config.link,
            topic=here.reader.exists(),
            records=tuple(filter(wanted.takes, here.records())),
            skipped=_skipped(here.link.books, wanted),
            foreign=here.reader.foreign,
        )


def one(config: LinkConfig, wanted: RecordId) -> tuple[InQuarantine, QuarantinedRecord]:
    """Return a record with its bytes; of several incarnations the last one.

    Raises:
        ClusterError: The target cannot be reached.
        ConfigError: There is no such record.
        LedgerError: The link never ran.
    """
    with open_quarantine(config) as here:
        meant = RecordFilter(ids=frozenset({wanted}))
        known = [each for each in here.records() if meant.takes(each)]
        for record in here.reader.records(config.link) if known else ():
            if record.key == known[-1].key:
                return known[-1], record
    why = f"{wanted} is not in topic {QUARANTINE}; `towpath quarantine ls FILE` lists what is"
    raise ConfigError((ConfigProblem("RECORD", why),))


def _skipped(books: LinkBooks, wanted: RecordFilter) -> dict[Group, int]:
    found: Counter[Group] = Counter()
    for tp, known in books.partitions.items():
        for each in known.refused:
            meant = not wanted.topics or tp.topic in wanted.topics
            if each.policy is Undeliverable.SKIP and meant and not wanted.ids:
                found[tp.topic, each.why.kind] += each.end - each.first
    return {key: count for key, count in found.items() if wanted.takes_reason(key[1])}
