"""The forecast of the removal of a link from the ledger, as a frozen value. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from towpath.ledger.alive import Life, RunLife
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import LinkState, Phase
from towpath.ledger.states import (
    AnyState,
    Draining,
    FailedOver,
    OneWay,
    RemovedState,
    Reversed,
    Sealed,
)
from towpath.mirror.failover.partitions import standing_cut
from towpath.model.amounts import count, counted, shortened
from towpath.model.nouns import NO_LINK, LinkName, TopicId, TopicName

_NAMED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTopic:
    """A mirror topic of the link that still exists.

    Attributes:
        topic: The source topic.
        target: The mirror topic.
        partitions: How many of its partitions were copied.
        records: How many records were copied.
        owned: The link still fills it, or is paused: nobody else is known to write there.
        held: Its retention or compaction is still held back.
    """

    topic: TopicName
    target: TopicName
    partitions: int
    records: int
    owned: bool
    held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalPlan:
    """The forecast of the removal of a link: what is deleted, kept, or relies on the link.

    Attributes:
        link: The link.
        state: Its state before, `None` if it only copies.
        run: Its last run, `None` if none is known.
        topics: The mirror topics that are there.
        stays: What else stays on the target, in sentences.
        leans: Who or what relies on the books, in sentences.
        gateways: The gateways that still serve clients of the link, in sentences.
        refusals: What forbids the removal now, in sentences.
        under_way: An earlier removal did not end.
        over: The books were removed already.
        never_ran: The link was created, and never ran: nothing on the target is its.
    """

    link: LinkName
    state: LinkState | None = None
    run: RunLife | None = None
    topics: tuple[KnownTopic, ...] = ()
    stays: tuple[str, ...] = ()
    leans: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    under_way: bool = False
    over: bool = False
    never_ran: bool = False

    @property
    def owned(self) -> tuple[KnownTopic, ...]:
        """The mirror topics that the link still owns."""
        return tuple(each for each in self.topics if each.owned)

    @property
    def needs_release(self) -> bool:
        """Whether the operator must confirm that topics or dependent links are given up."""
        return bool(self.owned or self.leans)

    def is_refused(self, *, release: bool) -> bool:
        """Whether the books stay, whatever the operator answers.

        Args:
            release: Whether the operator gives up topics and dependent links.
        """
        return bool(self.refusals) or (self.needs_release and not release)


def removal_plan(
    books: LinkBooks,
    state: AnyState,
    run: RunLife | None,
    there: Mapping[TopicName, TopicId],
    held: Collection[TopicName] = (),
) -> RemovalPlan:
    """Return the forecast of the removal of a link from the ledger.

    Args:
        books: What the ledger knows, with the groups.
        state: The state of the whole link.
        run: Its last run.
        there: The topics of the target, by their names.
        held: Mirror topics whose retention or compaction is held back, as the target has them now.
    """
    if isinstance(state, RemovedState):
        waits = bool(state.entry.waits_for)
        refusals = tuple(_refusals(books, state, run))
        return RemovalPlan(
            link=books.link, state=state.entry, run=run, refusals=refusals, under_way=waits,
            over=not waits,
        )  # fmt: skip
    topics = tuple(_topics(books, there, held))
    return RemovalPlan(
        link=books.link,
        state=state.entry if state.entry.tells else None,
        run=run,
        topics=topics,
        stays=tuple(_stays(books, topics)),
        leans=tuple(_leans(books, state)),
        refusals=tuple(_refusals(books, state, run)),
    )


def _topics(
    books: LinkBooks, there: Mapping[TopicName, TopicId], held: Collection[TopicName]
) -> Iterator[KnownTopic]:
    partitions, records = Counter[TopicName](), Counter[TopicName]()
    targets: dict[TopicName, TopicName] = {}
    open_: set[TopicName] = set()
    for tp, each in books.partitions.items():
        opened = each.opened
        if opened is None or there.get(opened.target_topic) != opened.target_topic_id:
            continue
        targets[tp.topic] = opened.target_topic
        partitions[tp.topic] += 1
        records[tp.topic] += each.receipt.records if each.receipt is not None else 0
        if books.closed(tp.topic) is None and standing_cut(each) is None:
            open_.add(tp.topic)
    for topic, target in sorted(targets.items()):
        yield KnownTopic(
            topic=topic,
            target=target,
            partitions=partitions[topic],
            records=records[topic],
            owned=topic in open_,
            held=target in held,
        )


def _stays(books: LinkBooks, topics: tuple[KnownTopic, ...]) -> Iterator[str]:
    if topics:
        names = shortened([each.target for each in topics], _NAMED)
        records = count(sum(each.records for each in topics))
        yield f"{counted(len(topics), 'mirror topic')} with {records} copied records: {names}"
    held = [each.target for each in topics if each.held]
    if held:
        yield (
            "retention or compaction that was held back while they were filled, which nobody sets"
            f" any more; set it on the target: {shortened(held, _NAMED)}"
        )
    if books.groups:
        number, names = len(books.groups), shortened(sorted(books.groups), _NAMED)
        yield f"offsets of {counted(number, 'group')}, for as long as it keeps them: {names}"
    done = Counter(
        each.subject
        for each in books.journal.values()
        if each.subject != "topics" and each.phase == Phase.DONE
    )
    if done:
        parts = ", ".join(
            f"{counted(number, 'step')} on {what}" for what, number in sorted(done.items())
        )
        yield f"what was done there besides: {parts}"
    salvage = sorted({s.salvage_topic for each in books.partitions.values() for s in each.salvaged})
    if salvage:
        yield f"salvage topics, on the side that won: {shortened(salvage, _NAMED)}"
    yield "the topics of the quarantine and of events, with what they say of this link"


def _leans(books: LinkBooks, state: AnyState) -> Iterator[str]:
    if books.twin != NO_LINK:
        yield (
            f"link {books.twin} tells by these books which records came from its own target;"
            " without them, it stops or copies them back: end it first"
        )
    if isinstance(state, Reversed):
        yield (
            f"link {state.entry.back} asks these books where groups go on that stand before the"
            " failover: remove them once its clients are back"
        )
    own = [each for each in books.states.values() if each.state == "failed_over"]
    if isinstance(state, FailedOver) or own:
        yield "clients use the target; without these books, `towpath failback` cannot go back"
    if not isinstance(state, FailedOver | Reversed) and any(
        each.cut is not None for each in books.partitions.values()
    ):
        yield (
            "a link back begins where these books say that a cutover cut; without them, it would"
            " copy all again"
        )


def _refusals(books: LinkBooks, state: AnyState, run: RunLife | None) -> Iterator[str]:
    if run is not None and run.state is Life.ALIVE:
        yield f"a run of the link lives ({run}): stop it first"
    moving = isinstance(state, Draining | Sealed | OneWay)
    own = sorted(
        each.topic for each in books.states.values() if each.state in {"draining", "sealed"}
    )
    if moving or own:
        what = f"link {books.link}" if moving else f"topic {own[0]}"
        yield f"a failover of {what} is under way; `towpath failover FILE` ends it"
