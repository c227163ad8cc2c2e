"""Translation of offsets from before a link began, by offset maps of earlier links.

A link back begins at the cutover of the link that made the mirror topic (`topics/ways_back.py`).
What stands before the cut came from the cluster to copy back to, so that link's map leads there.
Likewise a link that goes on in the topic of another one of the same direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.metadata import Answers
from towpath.groups.offset_maps import Answer
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Opened
from towpath.ledger.ledger import Ledger
from towpath.ledger.link import OpenLink
from towpath.ledger.offsets import Exactness, OffsetMap, TranslatedOffset
from towpath.ledger.origins import MirrorOrigins, is_mirrored, mirror_origins
from towpath.model.errors import ClusterError, LedgerError
from towpath.model.nouns import Side, SourceOffset, TargetOffset, TopicId, TopicName, TopicPartition

_ELSEWHERE = frozenset({Exactness.BEFORE_START, Exactness.NOT_YET})
"""Answers of a link that did not copy what is asked for."""


@dataclass(frozen=True, slots=True)
class EarlierCopy:
    """The records that another link copied between the same two partitions.

    Attributes:
        offsets: The offset map of that link.
        back: It copied in the other direction, from the target of this link.
    """

    offsets: OffsetMap
    back: bool

    def answer(self, offset: SourceOffset, log_start: int) -> Answer:
        """Return the target offset of a source offset, in terms of this link.

        Args:
            offset: The source offset.
            log_start: Where the target log begins now.
        """
        if not self.back:
            copied = self.offsets.next_target(offset)
            here = self.offsets.next_source(TargetOffset(log_start))
            return _kept(self.offsets.to_target(offset), copied, log_start, here)
        mirror = TargetOffset(offset)
        said, following = self.offsets.to_source(mirror), self.offsets.next_source(mirror)
        place = TargetOffset(said.offset)
        answer = TranslatedOffset(place, said.exactness, said.why, said.resumes)
        resumes = self.offsets.next_target(SourceOffset(log_start))
        return _kept(answer, TargetOffset(following), log_start, resumes)


def earliest(copies: Iterable[EarlierCopy], offset: SourceOffset, log_start: int) -> Answer | None:
    """Return the target offset by other links' copies, `None` if none copied it. Pure.

    Where one ended and another one began, the first place counts: nothing is passed over.

    Args:
        copies: What other links copied.
        offset: The source offset.
        log_start: Where the target log begins now.
    """
    said = [each.answer(offset, log_start) for each in copies]
    known = [each for each in said if each.exactness not in _ELSEWHERE]
    exact = [each for each in known if each.exactness is Exactness.EXACT]
    return min(exact or known, key=lambda each: each.offset, default=None)


def _kept(answer: Answer, following: TargetOffset, log_start: int, resumes: int) -> Answer:
    """Return an answer that lies in the target log, which may have deleted records since.

    Args:
        answer: The answer by the map.
        following: The target offset of the first record that was copied at or after the position.
        log_start: Where the target log begins now.
        resumes: The source offset of the first copied record that lies at or after that.
    """
    start = TargetOffset(log_start)
    if answer.offset >= start or answer.exactness in _ELSEWHERE:
        return answer
    if following >= start:
        return replace(answer, offset=start)
    why = f"the target has deleted offsets {answer.offset} to {start - 1}"
    return TranslatedOffset(start, Exactness.LOST, why, resumes)


class EarlierLinks:
    """Translates offsets from before the link began, by the ledgers of both clusters.

    What others copied before this link began stays as it is, so it is read once.

    Args:
        link: The link.
    """

    def __init__(self, link: OpenLink) -> None:
        self._link = link
        self._starts: Mapping[TopicPartition, int] = {}
        self._copies: dict[tuple[str | int, ...], tuple[EarlierCopy, ...]] = {}
        self._origins: dict[Side, MirrorOrigins] = {}
        self._begins: dict[tuple[Side, TopicName], Answers[TopicPartition, int]] = {}
        self._failed: ClusterError | LedgerError | None = None

    def begin(self, starts: Mapping[TopicPartition, int]) -> None:
        """Begin a sync; takes the log start offset of each target partition."""
        self._starts, self._failed = starts, None
        self._origins, self._begins = {}, {}

    def answer(self, opened: Opened, offset: SourceOffset, own: Answer) -> Answer:
        """Return the target offset of a group's position.

        Args:
            opened: How the copying of the partition began.
            offset: The source offset.
            own: What the map of this link says. It stays where the target has nothing before the
                begin of this link, or where no other link copied what is there.
        """
        start = self._starts.get(opened.target)
        if own.exactness is not Exactness.BEFORE_START or start is None or start >= own.offset:
            return own
        try:
            return earliest(self._of(opened), offset, start) or own
        except (ClusterError, LedgerError) as error:
            self._failed = error
            why = f"{own.why}; what other links copied before that is not known: {error}"
            return replace(own, why=why)

    def _of(self, opened: Opened) -> tuple[EarlierCopy, ...]:
        """Return what other links copied of a partition.

        Raises:
            ClusterError: A cluster cannot be asked.
            LedgerError: A ledger is of no use.
        """
        key = opened.about()
        if key not in self._copies:
            if self._failed is not None:
                raise self._failed
            source = _Partition(Side.SOURCE, opened.tp, opened.source_topic_id)
            target = _Partition(Side.TARGET, opened.target, opened.target_topic_id)
            both = (*self._copied(source, target), *self._copied(target, source))
            self._copies[key] = both
        return self._copies[key]

    def _copied(self, of: _Partition, to: _Partition) -> Iterator[EarlierCopy]:
        """Yield what other links copied of one partition to another one.

        The ledger beside the copy knows it.
        """
        link, back = self._link, to.side is Side.SOURCE
        known, mirror = link.books.identity, (to.tp.topic, to.id)
        origin = self._origins_on(to.side).get(mirror)
        if known is None or origin is None:
            return
        if origin.cluster != (known.target_cluster if back else known.source_cluster):
            return
        others = [each for each in origin.by if back or each.link != link.name]
        for each in others:
            books = each.partitions.get(of.tp)
            if books is not None and is_mirrored(books, mirror, of.id):
                self._read_runs(to.side, others)
                start = self._log_starts(to.side, others, to.tp.topic).sure(to.tp)
                yield EarlierCopy(books.offsets(TargetOffset(start)), back)

    def _origins_on(self, side: Side) -> MirrorOrigins:
        """Return the mirror topics of a cluster, read once a sync."""
        if side not in self._origins:
            with self._client(side) as (here, client):
                self._origins[side] = mirror_origins(here, client)
        return self._origins[side]

    def _read_runs(self, side: Side, links: Iterable[LinkBooks]) -> None:
        """Read the runs of links where that was not done yet."""
        unread = [each for each in links if not each.runs_read]
        if unread:
            with self._client(side) as (here, client):
                for each in unread:
                    Ledger(here, client).read_runs(each)

    def _log_starts(
        self, side: Side, links: Iterable[LinkBooks], topic: TopicName
    ) -> Answers[TopicPartition, int]:
        """Return where the logs of a topic that links have made begin, asked once a sync."""
        if (side, topic) not in self._begins:
            here = self._link.source if side is Side.SOURCE else self._link.target
            opened = (each.opened for link in links for each in link.partitions.values())
            tps = {each.target for each in opened if each and each.target_topic == topic}
            self._begins[side, topic] = here.offsets.earliest(tps)
        return self._begins[side, topic]

    @contextmanager
    def _client(self, side: Side) -> Iterator[tuple[Admin, Client]]:
        link = self._link
        here, where = link.target, link.config.target
        if side is Side.SOURCE:
            here, where = link.source, link.config.source
        with Client(where, side, here) as client:
            yield here, client


@dataclass(frozen=True, slots=True)
class _Partition:
    """A partition of one of both clusters, with the id of its topic."""

    side: Side
    tp: TopicPartition
    id: TopicId
