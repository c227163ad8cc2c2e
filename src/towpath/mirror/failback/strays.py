"""Records that came to the source of topics whose clients use the target: they are kept aside.

The run of the link does not copy them, as clients write to the target by now. They are copied to
salvage topics there, counted and compared, so that retention at the source takes none; a replay
brings them into their topics (`salvage/replay.py`). A run does so by itself for promoted topics
(`stray_loop.py`), `towpath salvage keep` when it is asked to.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from towpath.ledger.books.link import sealed
from towpath.ledger.entries import LinkStage, LinkState, Salvaged
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.wishes import read_begun
from towpath.mirror.errors import SalvageDiffersError
from towpath.mirror.failback.clusters import BothClusters, both_clusters
from towpath.mirror.failback.divergence import Divergence, LoneRecords
from towpath.mirror.failback.divergence_search import FailbackLook, look
from towpath.mirror.failback.failback_plan import salvaged
from towpath.mirror.failback.kept_portions import joined, portions
from towpath.mirror.failback.salvage.format import salvage_topic
from towpath.mirror.failback.salvage.replay import (
    SalvagedPartition,
    of_topics,
    salvaged_partitions,
)
from towpath.mirror.failback.salvage.replay import look as look_at
from towpath.mirror.failback.salvage.salvage import SalvagePlaces
from towpath.mirror.failback.salvaging import Lone, save
from towpath.mirror.failback.scope import part_of
from towpath.model.errors import RefusedError, TowpathError
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.runtime.backoff import BackOff
from towpath.runtime.clock import now_ms
from towpath.settings import LinkConfig

_FENCED = frozenset({"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"})
"""Another process keeps records of the link aside, and began later."""
_TRIES = 5
_PAUSE = BackOff(first=1.0, longest=8.0, jitter=0.5)


@dataclass(frozen=True, slots=True)
class KeepWish:
    """A request to keep records aside.

    Attributes:
        topics: Which topics; all for none.
        stop: Set to end early.
        told: Called with how many records are kept, and how many are to be at most.
    """

    topics: frozenset[TopicName] = frozenset()
    stop: threading.Event = field(default_factory=threading.Event)
    told: Callable[[int, int], None] = lambda _done, _of: None

    def behind(self, done: int, of: int) -> KeepWish:
        """Return the same wish where `done` of `of` records are kept already."""
        return replace(self, told=lambda more, _of: self.told(done + more, of))


@dataclass(slots=True)
class KeptNow:
    """What one look has kept aside.

    Attributes:
        records: How many records, of each topic that had some.
        deleted: How many offsets the source had deleted before, of each topic that had some.
        left: Why some could not be kept now, in sentences.
        failed: Why nothing more of a topic was kept; other topics are.
    """

    records: dict[TopicName, int] = field(default_factory=dict)
    deleted: dict[TopicName, int] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    failed: dict[TopicName, TowpathError] = field(default_factory=dict)

    def add(self, topic: TopicName, entries: Sequence[Salvaged]) -> None:
        """Add what the ledger's new entries tell of a topic."""
        for name, of in (("records", self.records), ("deleted", self.deleted)):
            number = sum(getattr(each, name) for each in entries)
            if number:
                of[topic] = of.get(topic, 0) + number

    def tell(self, link: OpenLink) -> None:
        """Tell the events of the link what was kept, if anything."""
        if self.records:
            records, topics = sum(self.records.values()), sorted(self.records)
            deleted = sum(self.deleted.values())
            link.events.tell(What.STRAYS_KEPT, records=records, topics=topics, deleted=deleted)


@dataclass(frozen=True, slots=True)
class KeptStrays:
    """What became of such a request.

    Attributes:
        records: How many were kept now.
        found: All that is in salvage topics now, of the topics of the request.
        left: Why some could not be kept now, in sentences.
    """

    records: int
    found: tuple[SalvagedPartition, ...]
    left: tuple[str, ...] = ()


def keep_strays(config: LinkConfig, wish: KeepWish) -> KeptStrays:
    """Copy what the source has behind the cut of topics that are over to salvage topics.

    What was kept before is not copied again.

    Raises:
        ClusterError: A cluster cannot be used. What is kept stays, and is not kept again.
        LedgerError: The link never ran.
        LinkSealedError: It was turned round, so what comes to its source is copied there.
        SalvageDiffersError: A salvage topic does not hold what it should.
        StoppedError: The user asked to stop; a repeated request goes on.
    """
    with open_link(config) as link:
        read_begun(link)
        link.books.check_clusters(link.source.cluster.id(), link.target.cluster.id())
        with both_clusters(link) as clusters:
            now = KeptNow()
            StrayKeeper(link, clusters).keep(wish, now)
            for error in now.failed.values():
                raise error
            known = of_topics(salvaged_partitions(link.books), wish.topics)
            return KeptStrays(sum(now.records.values()), tuple(look_at(clusters, known)), now.left)


class StrayKeeper:
    """Keeps aside what comes to the source of an open link, as often as it is asked to.

    Args:
        link: The link.
        clusters: Its clusters.
        hold: Raises if this process must not write any more.
        pace: Called with the bytes that will be written next; it may wait.
    """

    def __init__(
        self,
        link: OpenLink,
        clusters: BothClusters,
        *,
        hold: Callable[[], None] = lambda: None,
        pace: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._link, self._clusters, self._hold, self._pace = link, clusters, hold, pace
        self._places = SalvagePlaces()

    def keep(self, wish: KeepWish, now: KeptNow) -> None:
        """Keep what the source has now, each record once, and tell the events of the link.

        A topic that is refused does not stop the others. Another process that does the same at the
        same time fences this one, or is fenced; each looks again then at what is left.

        Args:
            wish: What is to be kept.
            now: Gets what was kept, also where an error ends it.

        Raises:
            ClusterError: A cluster cannot be used. What is kept stays, and is not kept again.
            LinkSealedError: The link was turned round, so what comes to its source is copied there.
            StoppedError: The user asked to stop.
        """
        attempt = 1
        try:
            while not self._is_done(wish, now, last=attempt == _TRIES):
                wish.stop.wait(_PAUSE.after(attempt))
                attempt += 1
        except BaseException:
            self._places.clear()
            raise
        finally:
            now.tell(self._link)

    def _is_done(self, wish: KeepWish, now: KeptNow, *, last: bool) -> bool:
        """Keep what is to be kept; return whether nobody has fenced this process meanwhile."""
        try:
            self._look(wish, now)
        except RefusedError as error:
            if error.name not in _FENCED or last or wish.stop.is_set():
                raise
            return False
        return True

    def _look(self, wish: KeepWish, now: KeptNow) -> None:
        """Keep what is to be kept, topic by topic."""
        link = self._link
        link.read()
        states = _over(link)
        found = self._found(states, wish.topics) if states else FailbackLook(())
        due: dict[TopicName, list[tuple[Divergence, LoneRecords]]] = defaultdict(list)
        for one in found.partitions:
            own = one.unsaved(Side.SOURCE)
            if own.any:
                due[one.tp.topic].append((one, own))
        most = sum(own.most for lone in due.values() for _, own in lone)
        for topic, lone in due.items():
            try:
                for some in portions(lone):
                    done = sum(now.records.values())
                    now.add(topic, self._topic(some, wish.behind(done, most)))
            except (RefusedError, SalvageDiffersError) as error:
                if isinstance(error, RefusedError) and error.name in _FENCED:
                    raise
                now.failed[topic] = error
                self._places.clear()
        now.left = (*(f"{each.about}: {each.text}" for each in found.problems), *_open(found))

    def _found(
        self, states: Mapping[TopicName, LinkState], topics: frozenset[TopicName]
    ) -> FailbackLook:
        part = part_of(self._link, states)
        part.partitions = {
            tp: each
            for tp, each in part.partitions.items()
            if each.opened and each.cut and _is_meant(tp, each.opened.target_topic, topics)
        }
        return look(self._clusters, part, self._link.ledger, counting=None)

    def _topic(self, lone: Lone, wish: KeepWish) -> list[Salvaged]:
        """Keep what came to partitions of a topic; return what is new, as entries of the ledger."""
        link = self._link
        some, entries = list[tuple[Divergence, LoneRecords]](), list[Salvaged]()
        for one, own in lone:
            if self._has_records(own):
                some.append((one, own))
            elif one.salvaged or one.tp.topic in link.books.promoted:
                entries.append(_emptied(link, one, own))
        if some:
            entries += save(
                link,
                self._clusters,
                Side.SOURCE,
                some,
                told=wish.told,
                stop=wish.stop,
                hold=self._hold,
                places=self._places,
                pace=self._pace,
            )
        before = {one.tp: link.books.of(one.tp).salvaged for one, _ in lone}
        link.ledger.append([joined(before[each.tp], each) for each in entries])
        link.read()
        return entries

    def _has_records(self, own: LoneRecords) -> bool:
        """Whether a partition has records there; offsets may be those of markers."""
        records = self._clusters.source.records(own.place, max(own.first, own.log_start), own.end)
        return next(records, None) is not None


def _emptied(link: OpenLink, one: Divergence, own: LoneRecords) -> Salvaged:
    """Return the entry about offsets without records: those of markers, or deleted ones.

    Elsewhere than behind a promotion it would be an answer to the question whose records stay.
    """
    topic = salvage_topic(one.own(own.side.other).place.topic)
    return salvaged(link.name, one, own, 0, topic, now_ms())


def _open(found: FailbackLook) -> list[str]:
    return [
        f"{one.tp}: a transaction is open at the source from offset {one.source.end} on; what it"
        " leaves is kept once it has ended"
        for one in found.partitions
        if one.source.is_open
    ]


def _is_meant(tp: TopicPartition, mirror: TopicName, topics: frozenset[TopicName]) -> bool:
    return not topics or bool(topics & {tp.topic, mirror})


def _over(link: OpenLink) -> Mapping[TopicName, LinkState]:
    """Return the states of the link, or of topics, whose clients use the target.

    Raises:
        LinkSealedError: The whole link was turned round.
    """
    whole = link.books.state_of()
    if whole is not None and whole.state == LinkStage.REVERSED:
        raise sealed(whole)
    return {
        topic: each
        for topic, each in link.books.states.items()
        if each.state == LinkStage.FAILED_OVER and topic not in link.books.stopped
    }
