"""`towpath quarantine replay`: write quarantined records to their mirror topics.

A record and the mark that it was replayed are written in one transaction, so the target has both or
neither, also where this process is killed at any moment. A replay begins by fencing every earlier
one of the link, then waits until all marks show, and only then decides what is left to write. So no
record is committed twice. Consumers with isolation.level=read_uncommitted may see a record of a
transaction that was aborted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from towpath.cluster.data.transaction_writer import portions
from towpath.ledger.books.id_table import IdTables
from towpath.ledger.books.ids import IdBooks
from towpath.ledger.entries import DecidedIds, Replayer, Unreadable
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink
from towpath.ledger.quarantine.format import QuarantineKey, ReplayMark
from towpath.ledger.wishes import signature
from towpath.mirror.quarantine.changing import Ids, PresentChange, UnchangedError
from towpath.mirror.quarantine.quarantined import OpenQuarantine, RecordFilter, open_quarantine
from towpath.mirror.quarantine.writing import ReplayWriter, Written
from towpath.mirror.twin import require_no_twin
from towpath.model.errors import RefusedError
from towpath.model.nouns import Mode, ProducerId, TopicPartition
from towpath.runtime.clock import now_ms
from towpath.settings import LinkConfig, OffsetsPolicy
from towpath.wire import plain

REPLAYED = b"towpath-replayed"
"""Header of a replayed record in its mirror topic: its origin, as in the quarantine topic."""

_TOGETHER = 200
"""Most records in one transaction."""
_BYTES = 4 << 20
"""Approximate upper bound on the bytes of records in one transaction."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A record that is replayed.

    Attributes:
        key: Its origin.
        target: The partition that it is written to.
    """

    key: QuarantineKey
    target: TopicPartition


@dataclass(frozen=True, slots=True)
class NotReplayed:
    """A record that is not replayed, and why; `str()` gives a sentence."""

    key: QuarantineKey
    why: str

    def __str__(self) -> str:
        return f"{self.key}: {self.why}"


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """The options of a replay.

    Attributes:
        wanted: Which records; those that were replayed before are never meant.
        shift: Whether offsets of identical partitions may become mapped.
        agreed: Called with the plan; returns whether to carry it out.
    """

    wanted: RecordFilter
    shift: bool
    agreed: Callable[[Sequence[Replay], Sequence[NotReplayed]], bool]


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The result of a replay.

    Attributes:
        done: Records that were written.
        left: Records that were not, and why.
    """

    done: tuple[Replay, ...] = ()
    left: tuple[NotReplayed, ...] = ()


def replay(config: LinkConfig, asked: ReplayRequest) -> ReplayReport:
    """Replay records; a run of the link may continue meanwhile.

    Raises:
        ClusterError: The target cannot be reached, or refused the transaction as a whole. What was
            written then shows in `towpath quarantine ls`.
        LedgerError: The link never ran.
        ConfigError: The link has a twin.
    """
    require_no_twin(
        config,
        "records of the quarantine topic are not replayed where both sides are written: the"
        " twin would copy them to the source, which has them already",
    )
    with open_quarantine(config) as here:
        due, left = _planned(here, asked)
        if not due or not asked.agreed(due, left):
            return ReplayReport(left=tuple(left))
        writer = ReplayWriter(here.link, here.client)
        _begin(here, writer)
        here.reader.settle()
        still_open = {each.key for each in here.records() if each.is_open}
        wanted = {each.key: each for each in due if each.key in still_open}
        change = PresentChange(config, here.link.books, _ids(here.link))
        done = _write(here, writer, wanted, change, left)
        here.reader.settle()  # so that all marks show
        here.link.events.tell(What.QUARANTINE_REPLAYED, records=len(done), left=len(left))
        return ReplayReport(tuple(done), tuple(left))


def _planned(here: OpenQuarantine, asked: ReplayRequest) -> tuple[list[Replay], list[NotReplayed]]:
    """Return what would be replayed, and what cannot be."""
    due: list[Replay] = []
    left: list[NotReplayed] = []
    wanted = replace(asked.wanted, is_open=True)
    places = _Places(here, shift=asked.shift)
    for each in filter(wanted.takes, here.records()):
        place = places.of(each.key)
        if isinstance(place, TopicPartition):
            due.append(Replay(each.key, place))
        else:
            left.append(NotReplayed(each.key, place))
    return due, left


class _Places:
    """Where records are replayed to, or why they are not."""

    def __init__(self, here: OpenQuarantine, *, shift: bool) -> None:
        self._here, self._shift = here, shift
        self._known: dict[TopicPartition, TopicPartition | str] = {}

    def of(self, key: QuarantineKey) -> TopicPartition | str:
        if key.tp not in self._known:
            self._known[key.tp] = self._find(key.tp)
        return self._known[key.tp]

    def _find(self, tp: TopicPartition) -> TopicPartition | str:
        link = self._here.link
        books = link.books.of(tp)
        if books.opened is None:
            return "the link has no mirror partition for it"
        info = link.target.topics.describe([books.opened.target_topic]).get(
            books.opened.target_topic
        )
        if info is None or info.error is not None or info.id != books.opened.target_topic_id:
            return f"mirror topic {books.opened.target_topic} is not the one that was written"
        if books.mode is Mode.IDENTICAL and books.cut is None:
            if link.config.records.offsets is OffsetsPolicy.IDENTICAL:
                return (
                    "its partition must keep identical offsets (`records.offsets: identical`), and"
                    " a replayed record takes an offset; replay after the cutover"
                )
            if not self._shift:
                return (
                    "its partition has identical offsets, and a replayed record takes an offset, so"
                    " that the partition becomes mapped; name --shift to accept that, or replay"
                    " after the cutover"
                )
        return books.opened.target


def _begin(here: OpenQuarantine, writer: ReplayWriter) -> None:
    """Fence all earlier replays, and note the producer id in the ledger before it is used."""
    producer = ProducerId(writer.begin())
    if producer not in here.link.books.replayers:
        link = here.link
        entry = Replayer(link=link.config.link, producer_id=producer, at=now_ms())
        link.ledger.append([entry])
        link.read()


def _write(
    here: OpenQuarantine,
    writer: ReplayWriter,
    wanted: Mapping[QuarantineKey, Replay],
    change: PresentChange,
    left: list[NotReplayed],
) -> list[Replay]:
    """Write the wanted records in transactions. Returns those that were written."""
    done: list[Replay] = []
    changed = _changed(here, wanted, change, left)
    for some in portions(changed, lambda each: each[1].size, most=_TOGETHER, most_bytes=_BYTES):
        done += _write_some(here, writer, some, left)
    return done


def _changed(
    here: OpenQuarantine,
    wanted: Mapping[QuarantineKey, Replay],
    change: PresentChange,
    left: list[NotReplayed],
) -> Iterator[tuple[Replay, plain.Record]]:
    """Yield the wanted records as they are written."""
    for each in here.reader.records(here.link.config.link):
        if each.key not in wanted:
            continue
        try:
            record = change.apply(each)
        except UnchangedError as error:
            left.append(NotReplayed(each.key, str(error)))
            continue
        origin = (REPLAYED, each.key.encode())
        yield wanted[each.key], replace(record, headers=(*record.headers, origin))


def _write_some(
    here: OpenQuarantine,
    writer: ReplayWriter,
    some: Sequence[tuple[Replay, plain.Record]],
    left: list[NotReplayed],
) -> list[Replay]:
    """Write records in one transaction, or in several where the target refuses some of them."""
    try:
        writer.write([Written(each.target, record, _mark(each)) for each, record in some])
    except RefusedError as error:
        if writer.fenced_by(error) or error.retriable or error.forbidden:
            raise
        writer.abort()
        if len(some) == 1:
            left.append(NotReplayed(some[0][0].key, str(error)))
            return []
        half = len(some) // 2
        first = _write_some(here, writer, some[:half], left)
        return first + _write_some(here, writer, some[half:], left)
    return [each for each, _ in some]


def _ids(link: OpenLink) -> Ids:
    """Return the decisions about schema ids that the ledger has now."""
    books = IdBooks()
    for entry in link.ledger.another().read_ids(link.config.link):
        if isinstance(entry, Unreadable):
            raise entry.error
        if isinstance(entry, DecidedIds):
            books.take(entry)
    return IdTables(books).of


def _mark(each: Replay) -> ReplayMark:
    return ReplayMark(key=each.key, target=each.target, **signature())
