"""The state of one link, accumulated from ledger entries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace

from towpath.ledger.books.ids import IdBooks
from towpath.ledger.books.partition import PartitionBooks, collections_of
from towpath.ledger.entries import (
    LEVEL,
    MIRROR,
    STAGES,
    WHOLE_LINK,
    Attempt,
    AwaitedIds,
    Created,
    Dealt,
    DecidedIds,
    DefinedChange,
    EndOffsets,
    EntryKey,
    FirstLook,
    Foretold,
    GatewayCall,
    GatewayReply,
    GatewaySign,
    Journal,
    LinkIdentity,
    LinkLease,
    LinkStage,
    LinkState,
    Opened,
    Paced,
    Pause,
    Promoted,
    Promotion,
    ReadEntry,
    Receipt,
    RefusedIds,
    RelayedId,
    Released,
    Removed,
    Replayer,
    Restarted,
    Runs,
    SeenGroup,
    Session,
    SetRate,
    Share,
    TransactionalProducer,
    Twinned,
    Unreadable,
)
from towpath.ledger.neighbours import Neighbours
from towpath.model.changes import NO_CHANGE, RecordChange
from towpath.model.errors import LedgerError, LinkSealedError, NewerLinkError, NewerStateError
from towpath.model.nouns import (
    NO_LINK,
    ClusterId,
    LinkName,
    ProducerId,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.runtime.clock import readable

_Noted = (
    Foretold | Journal | Pause | Restarted | SetRate | SeenGroup | DefinedChange | Replayer
    | Twinned
)  # fmt: skip
_OF_ALL = {Runs.kind, DefinedChange.kind, LinkState.kind}
"""Kinds of facts that concern whoever reads about some partitions alone."""
_OF_NEIGHBOURS = {
    Opened.kind, Journal.kind, TransactionalProducer.kind, Replayer.kind, LinkState.kind
}  # fmt: skip
_KEPT = {"link", "only", "runs_read", "identity", "session", "neighbours"}
"""What stays known of a link whose books were removed."""


@dataclass(slots=True)
class LinkBooks:
    """The state of one link, accumulated from ledger entries.

    Attributes:
        only: If not `None`, only facts about these source partitions are read.
        runs_read: The runs were read, so that the offset maps are complete.
    """

    link: LinkName
    only: frozenset[TopicPartition] | None = None
    runs_read: bool = False
    identity: LinkIdentity | None = None
    created: Created | None = None
    """What the file of the link said when somebody created it in the ledger."""
    partitions: dict[TopicPartition, PartitionBooks] = field(default_factory=dict)
    journal: dict[tuple[str | int, ...], Journal] = field(default_factory=dict)
    """The last step of each kind about each thing on the target, by `Journal.about()`; the oldest
    first."""
    session: Session | None = None
    first_look: FirstLook | None = None
    ends: dict[tuple[TopicName, TopicId], EndOffsets] = field(default_factory=dict)
    """Where source topics ended when the link ran first, with `start: latest`."""
    pauses: dict[TopicName, Pause] = field(default_factory=dict)
    """The pauses that hold, by source topic."""
    restarts: dict[TopicName, Restarted] = field(default_factory=dict)
    """Source topics that may be copied though they were made again, by their names."""
    rates: dict[TopicName, SetRate] = field(default_factory=dict)
    """Limits that were set in the place of those of the file, by source topic."""
    foretold: dict[TopicName, Foretold] = field(default_factory=dict)
    """What targets may delete that the source has, by source topic."""
    states: dict[TopicName, LinkState] = field(default_factory=dict)
    """The state of the link, under `WHOLE_LINK`, and of topics that have one of their own."""
    twin: LinkName = NO_LINK
    """The link in the other direction whose batches this one leaves out, "" without one."""
    replayers: frozenset[ProducerId] = frozenset()
    """Producer ids under which records of the quarantine topic were written to mirror topics."""
    groups: dict[str, SeenGroup] = field(default_factory=dict)
    """Groups as they were seen last, by their names at the source, as far as they were read."""
    moved_groups: dict[str, int] = field(default_factory=dict)
    """Groups that a gateway has moved to the target, and when, in ms since 1970: their offsets
    there are their own."""
    promoted: set[TopicName] = field(default_factory=set)
    """The topics that gateways moved to the target, and not back under the name of this link."""
    changes: dict[str, RecordChange] = field(default_factory=dict)
    """What digests of changes stand for."""
    ids: IdBooks = field(default_factory=IdBooks)
    """What ids of schemas become, as far as it was read."""
    neighbours: Neighbours = field(init=False)
    """The topics of the target that links write to."""

    def __post_init__(self) -> None:
        self.neighbours = Neighbours(self.link)

    def copy(self) -> LinkBooks:
        """Return a copy of the books for another thread."""
        made = replace(self, **collections_of(self))
        made.partitions = {tp: books.copy() for tp, books in self.partitions.items()}
        made.neighbours = deepcopy(self.neighbours)
        made.ids = IdBooks()  # they may be large, and no round is planned by them
        return made

    @property
    def begun(self) -> bool:
        """Whether an earlier run of the link has opened partitions."""
        return any(books.opened is not None for books in self.partitions.values())

    def check_clusters(self, source: ClusterId, target: ClusterId) -> None:
        """Raise if the link was first used with another pair of clusters.

        Raises:
            LedgerError: It joins others.
        """
        known = self.identity
        if known is not None and (known.source_cluster, known.target_cluster) != (source, target):
            raise LedgerError(
                f"link {self.link} mirrors cluster {known.source_cluster} to"
                f" {known.target_cluster}, but the file names {source} and {target}; correct the"
                " addresses, or take another `link` name for other clusters"
            )

    def made_again(self, ids: Mapping[TopicName, TopicId]) -> frozenset[TopicName]:
        """Return the source topics that were copied before under another topic id.

        Those that somebody has restarted are not among them.
        """
        return frozenset(
            tp.topic
            for tp, books in self.partitions.items()
            if books.opened is not None
            and ids.get(tp.topic, books.opened.source_topic_id) != books.opened.source_topic_id
            and not self._is_restarted(tp.topic, ids.get(tp.topic))
        )

    def restart_of(self, tp: TopicPartition) -> Restarted | None:
        """Return the accepted `restart` that now applies to a partition, else `None`."""
        books = self.partitions.get(tp)
        if books is None or books.opened is None:
            return None
        allowed = self._is_restarted(tp.topic, books.opened.source_topic_id)
        return self.restarts[tp.topic] if allowed else None

    def _is_restarted(self, topic: TopicName, topic_id: TopicId | None) -> bool:
        """Whether somebody has allowed to copy the topic with this id."""
        restart = self.restarts.get(topic)
        return restart is not None and restart.source_topic_id == topic_id

    def change_of(self, books: PartitionBooks) -> RecordChange:
        """Return the change of records under which a partition is copied."""
        return self.defined(books.change)

    def defined(self, digest: str) -> RecordChange:
        """Return the change of records with this digest; no change for "".

        Raises:
            LedgerError: The ledger does not say what it is, or a newer version has defined it.
        """
        known = self.changes.get(digest) if digest else NO_CHANGE
        if known is None:
            raise LedgerError(
                f"the ledger has no definition of change {digest}, under which records were copied;"
                " was an entry deleted?"
            )
        if known.digest != digest:
            raise LedgerError(
                f"change {digest} was defined by a newer version of Towpath; use that version"
            )
        return known

    def other_changes_of(
        self, books: PartitionBooks, change: RecordChange
    ) -> tuple[RecordChange, ...]:
        """Return changes of records by which earlier copiers may have written a partition."""
        others = books.named_changes - {change.digest}
        known = [NO_CHANGE if not each else self.changes.get(each) for each in sorted(others)]
        return tuple(each for each in known if each is not None and not each.drops)

    def pause_of(self, topic: TopicName) -> Pause | None:
        """Return the pause that applies to a source topic, `None` if it is not paused."""
        return self.pauses.get(WHOLE_LINK) or self.pauses.get(topic)

    def state_of(self, topic: TopicName = WHOLE_LINK) -> LinkState | None:
        """Return the state that holds for a source topic; `None` where it is running."""
        whole, own = self.states.get(WHOLE_LINK), self.states.get(topic)
        return whole if own is None or (whole is not None and whole.is_closed) else own

    @property
    def stopped(self) -> frozenset[TopicName]:
        """The source topics that somebody stopped for good, by a command."""
        return frozenset(
            topic for topic, each in self.states.items() if each.state == LinkStage.STOPPED
        )

    def closed(self, topic: TopicName = WHOLE_LINK) -> LinkState | None:
        """Return the state because of which a topic must not be copied, `None` if it may be."""
        state = self.state_of(topic)
        return state if state is not None and state.is_closed else None

    def require_open(self, topic: TopicName = WHOLE_LINK) -> None:
        """Raise if nothing may be copied, as the link or the topic is sealed or failed over.

        Raises:
            LinkSealedError: It is.
        """
        state = self.closed(topic)
        if state is not None:
            raise sealed(state)

    def require_name(self) -> None:
        """Raise if the books of a link of this name were removed: the name is not used again.

        Raises:
            LinkSealedError: They were.
        """
        state = self.states.get(WHOLE_LINK)
        if state is not None and state.state == LinkStage.REMOVED:
            raise sealed(state)

    def held_topics(self, mirrors: Collection[TopicName]) -> list[TopicName]:
        """Return those mirror topics whose retention or compaction is held back since creation."""
        done = self.journal.values()
        released = {TopicName(step.name) for step in done if step.do == "SetConfigs"}
        return sorted(
            TopicName(step.name)
            for step in done
            if step.do == "CreateTopic"
            and step.step.get("held")
            and step.name in mirrors
            and step.name not in released
        )

    def rests(self, topic: TopicName) -> bool:
        """Whether a source topic is not copied: it is paused, stopped, sealed or failed over."""
        return self.pause_of(topic) is not None or self.closed(topic) is not None

    def of(self, tp: TopicPartition) -> PartitionBooks:
        """Return the books of a source partition, empty ones if nothing is known."""
        known = self.partitions.get(tp)
        if known is None:
            known = self.partitions[tp] = PartitionBooks()
        return known

    def wants(self, key: EntryKey) -> bool:
        """Return whether the entry with this key is needed; offset maps are read separately."""
        if key.link != self.link:
            return self.only is None and key.kind in _OF_NEIGHBOURS
        if self.only is None or key.kind in _OF_ALL:
            return key.kind != Runs.kind
        return key.partition in self.only

    def take(self, entry: ReadEntry) -> None:
        """Add one entry. Entries may come twice and in any order of writers.

        Raises:
            NewerLedgerError: A newer version wrote about this link.
            NewerLinkError: The link needs a feature level that this program does not know.
            NewerStateError: The link is in a state that this program does not know.
            LedgerError: A record with a key of this link is no entry.
        """
        self.neighbours.take(entry)
        if entry.link != self.link:
            return
        match entry:
            case Unreadable():
                raise entry.error
            case LinkIdentity() | Created():
                self._identify(entry)
            case FirstLook() | EndOffsets() | Session():
                self._look(entry)
            case (
                Dealt() | Attempt() | Released() | LinkLease() | Share() | Paced()
                | GatewaySign() | Promotion() | Promoted() | GatewayCall() | GatewayReply()
                | RelayedId()
            ):  # fmt: skip
                self._pass(entry)
            case LinkState():
                self._stand(entry)
            case DecidedIds() | AwaitedIds() | RefusedIds():
                self.ids.take(entry)
            case (
                Journal() | Pause() | Restarted() | SetRate() | SeenGroup() | DefinedChange()
                | Replayer() | Foretold() | Twinned()
            ):  # fmt: skip
                self._note(entry)
            case Removed():
                self._remove(entry)
            case _:
                self.of(entry.tp).take(entry)

    def _pass(self, entry: ReadEntry) -> None:
        """Pass what concerns who runs now, and gateways, but for what these moved."""
        if not isinstance(entry, Promoted):
            return
        topics = [TopicName(each.topic) for each in entry.topics]
        if entry.back:
            for group in entry.groups:
                self.moved_groups.pop(group, None)
            self.promoted.difference_update(topics)
        else:
            self.moved_groups |= dict.fromkeys(entry.groups, entry.at)
            self.promoted.update(topics)

    def _identify(self, entry: LinkIdentity | Created) -> None:
        if isinstance(entry, Created):
            self.created = entry
            return
        if entry.level > LEVEL:
            raise NewerLinkError(self.link, entry.version, entry.level, LEVEL)
        known = self.identity or entry
        newest = max(known, entry, key=lambda each: each.level)
        self.identity = replace(known, level=newest.level, version=newest.version)

    def _stand(self, entry: LinkState) -> None:
        if entry.state not in STAGES:
            raise NewerStateError(self.link, entry.state, entry.version)
        if (entry.state, entry.topic) == (LinkStage.REMOVED, WHOLE_LINK):
            self._forget()
        self.states[entry.topic] = entry

    def _forget(self) -> None:
        """Know nothing any more but which link it was: the rest was removed, or is being so."""
        empty = LinkBooks(self.link)
        for each in fields(self):
            if each.name not in _KEPT:
                setattr(self, each.name, getattr(empty, each.name))

    def _note(self, entry: _Noted) -> None:
        if isinstance(entry, SeenGroup):
            known = self.groups.get(entry.group)
            if known is None or known.at <= entry.at:
                self.groups[entry.group] = entry
            return
        if isinstance(entry, DefinedChange):
            self.changes[entry.digest] = entry.change
        elif isinstance(entry, Pause):
            self.pauses[entry.topic] = entry
        elif isinstance(entry, SetRate):
            self.rates[entry.topic] = entry
        elif isinstance(entry, Foretold):
            self.foretold[entry.topic] = entry
        elif isinstance(entry, Restarted):
            self.restarts[entry.topic] = entry
        elif isinstance(entry, Twinned):
            self.twin = entry.twin
        elif isinstance(entry, Replayer):
            self.replayers |= {entry.producer_id}
        else:
            self.journal.pop(entry.about(), None)
            self.journal[entry.about()] = entry

    def _look(self, entry: FirstLook | EndOffsets | Session) -> None:
        if isinstance(entry, Session):
            self.session = entry if entry.work == MIRROR else self.session
        elif isinstance(entry, FirstLook):
            self.first_look = self.first_look or entry
        else:
            self.ends.setdefault((entry.topic, entry.topic_id), entry)

    def _remove(self, entry: Removed) -> None:
        if entry.kind == Created.kind:
            self.created = None
        elif entry.kind == Pause.kind:
            self.pauses.pop(TopicName(str(entry.key[0])), None)
        elif entry.kind == LinkState.kind:
            self.states.pop(TopicName(str(entry.key[0])), None)
        elif entry.kind == SetRate.kind:
            self.rates.pop(TopicName(str(entry.key[0])), None)
        elif entry.kind == SeenGroup.kind:
            self.groups.pop(str(entry.key[0]), None)
        elif entry.kind == AwaitedIds.kind:
            self.ids.take(entry)
        elif entry.kind in {Receipt.kind, Runs.kind}:
            tp = EntryKey(entry.kind, entry.link, entry.key).partition
            if tp is not None:
                self.of(tp).forget(entry)


def sealed(state: LinkState) -> LinkSealedError:
    """Return the error that nothing may be copied any more in a state."""
    where = f"{state.user} on {state.host}, since {readable(state.since)}"
    return LinkSealedError(state.link, state.state, where, state.topic, state.back, state.forward)
