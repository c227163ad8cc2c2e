"""`towpath link ls` and `show`: links as the ledger on a target knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from towpath.ledger.alive import Life, RunLife, is_gone
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import (
    MIRROR,
    WHOLE_LINK,
    Created,
    GatewaySign,
    LinkIdentity,
    LinkStage,
    LinkState,
    Opened,
    Promoted,
    PromotionStage,
    ReadEntry,
    Removed,
    Session,
)
from towpath.ledger.ledger import FACTS, SESSIONS
from towpath.ledger.link import OpenTarget, open_target
from towpath.ledger.not_copied import why_not_copied
from towpath.model.errors import LinkUnknownError
from towpath.model.nouns import LinkName, Mode, TopicName, TopicPartition
from towpath.settings import LinkConfig

CREATED, COPYING = "created", "copying"
"""What is said of a link that never ran, and of one that only copies."""
_FACTS = {Created.kind, LinkIdentity.kind, LinkState.kind, GatewaySign.kind, Promoted.kind}
_MOST_REASONS = 3


@dataclass(slots=True)
class KnownLink:
    """A link that the ledger on a target knows.

    Attributes:
        name: Its name.
        created: What its file said when somebody created it, `None` if nobody did.
        identity: The clusters that it joins, `None` if it never ran.
        state: Its state, `None` where it has none of its own.
        run: Its last run, `None` if none is known.
        gateways: The gateways that may serve its clients.
        promoted: The topics that gateways moved to the target, and not back.
        groups: The groups that they moved; `alone`, those before their topics.
    """

    name: LinkName
    created: Created | None = None
    identity: LinkIdentity | None = None
    state: LinkState | None = None
    run: RunLife | None = None
    gateways: list[GatewaySign] = field(default_factory=list)
    promoted: set[TopicName] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    alone: set[str] = field(default_factory=set)

    def take(self, entry: ReadEntry) -> None:
        """Add one ledger entry about the link."""
        match entry:
            case Created():
                self.created = entry
            case Removed(kind=Created.kind):
                self.created = None
            case LinkIdentity():
                self.identity = self.identity or entry
            case LinkState(topic=topic) if topic == WHOLE_LINK:
                self.state = entry
            case Promoted():
                self._moved(entry)
            case _:
                pass

    def _moved(self, record: Promoted) -> None:
        topics, groups = {each.topic for each in record.topics}, {*record.groups}
        if record.back:
            self.promoted, self.groups = self.promoted - topics, self.groups - groups
            self.alone -= groups
            return
        self.promoted, self.groups = self.promoted | topics, self.groups | groups
        self.alone |= set() if topics else groups

    @property
    def word(self) -> str:
        """The state of the link in a word."""
        if self.state is not None and self.state.tells:
            return self.state.state
        return COPYING if self.identity is not None else CREATED

    @property
    def is_run(self) -> bool:
        """Whether a run of the link is alive."""
        return self.run is not None and self.run.state is Life.ALIVE


@dataclass(frozen=True, slots=True)
class LinkTopic:
    """A topic of a link.

    Attributes:
        topic: The source topic.
        target: The mirror topic.
        partitions: How many of its partitions were opened.
        identical: How many of these have the offsets of the source.
        promoted: A gateway moved its clients to the target.
        state: Its own state, "" where it has none.
        reasons: Why a gateway cannot move its clients, in sentences; none if it can, or did.
    """

    topic: TopicName
    target: TopicName
    partitions: int
    identical: int
    promoted: bool
    state: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownLink:
    """A link with its topics."""

    link: KnownLink
    topics: tuple[LinkTopic, ...]


def list_links(config: LinkConfig) -> list[KnownLink]:
    """Return all links in the ledger of the target that a file names.

    Raises:
        ClusterError: The target cannot be reached.
        LedgerError: The ledger is of no use.
    """
    with open_target(config.link, config.target) as to:
        if not to.ledger.usable():
            return []
        return known_links(_facts(to), _sessions(to))


def show_link(config: LinkConfig) -> ShownLink:
    """Return a link with its topics.

    Raises:
        ClusterError: The target cannot be reached.
        LedgerError: The ledger is of no use.
        LinkUnknownError: It does not know the link.
    """
    with open_target(config.link, config.target) as to:
        found: list[KnownLink] = []
        if to.ledger.usable():
            to.read()
            found = known_links(_facts(to), _sessions(to))
        link = next((each for each in found if each.name == config.link), None)
        if link is None:
            raise LinkUnknownError(config.link)
        return ShownLink(link, tuple(known_topics(to.books, link.promoted)))


def _facts(to: OpenTarget) -> Iterable[ReadEntry]:
    return to.ledger.another().read(FACTS, wanted=lambda key: key.kind in _FACTS)


def _sessions(to: OpenTarget) -> Mapping[LinkName, Session]:
    found = to.ledger.another().read(SESSIONS, wanted=lambda key: key.kind == Session.kind)
    return {each.link: each for each in found if isinstance(each, Session) and each.work == MIRROR}


def known_links(
    facts: Iterable[ReadEntry], sessions: Mapping[LinkName, Session]
) -> list[KnownLink]:
    """Return the links in these ledger entries, by name. Pure, but for processes of this machine.

    Args:
        facts: The entries, in the order of the ledger.
        sessions: The last sign of life of each link's runs.
    """
    links: dict[LinkName, KnownLink] = {}
    signs: dict[tuple[LinkName, str], GatewaySign] = {}
    for entry in facts:
        links.setdefault(entry.link, KnownLink(entry.link)).take(entry)
        if isinstance(entry, GatewaySign):
            signs[entry.link, entry.name] = entry
    for (name, _), sign in signs.items():
        if not sign.over and not is_gone(sign):
            links[name].gateways.append(sign)
    for name, session in sessions.items():
        if name in links:
            links[name].run = RunLife.of(session)
    return sorted((each for each in links.values() if _tells(each)), key=lambda each: each.name)


def _tells(link: KnownLink) -> bool:
    return (link.created or link.identity or link.state) is not None


def known_topics(books: LinkBooks, promoted: Iterable[TopicName]) -> list[LinkTopic]:
    """Return the topics of a link by name, and why their clients cannot move. Pure."""
    moved = {*promoted}
    partitions: dict[TopicName, dict[TopicPartition, tuple[PartitionBooks, Opened]]] = {}
    for tp, each in sorted(books.partitions.items()):
        if each.opened is not None:
            partitions.setdefault(tp.topic, {})[tp] = each, each.opened
    found = []
    for topic, parts in partitions.items():
        first = next(iter(parts.values()))[1]
        state = books.states.get(topic)
        found.append(
            LinkTopic(
                topic=topic,
                target=first.target_topic,
                partitions=len(parts),
                identical=sum(each.mode is Mode.IDENTICAL for each, _ in parts.values()),
                promoted=topic in moved,
                state=_word(state, promoted=topic in moved),
                reasons=() if topic in moved else tuple(_reasons(topic, parts, books)),
            )
        )
    return found


def _word(state: LinkState | None, *, promoted: bool) -> str:
    """Return the state of a topic, "" for none; a promotion ends as a failover does."""
    if state is None or not state.tells:
        return ""
    is_over = promoted and state.state == LinkStage.FAILED_OVER
    return PromotionStage.PROMOTED.value if is_over else state.state


def _reasons(
    topic: TopicName,
    parts: Mapping[TopicPartition, tuple[PartitionBooks, Opened]],
    books: LinkBooks,
) -> Iterable[str]:
    """Yield why the clients of a topic cannot move, each reason once, with its first partition."""
    if why := why_not_copied(books, topic):
        yield f"it is not copied now: {why}"
    target = next(iter(parts.values()))[1].target_topic
    if target != topic:
        yield f"it is named {target} on the target"
    told: dict[str, TopicPartition] = {}
    for tp, (each, opened) in parts.items():
        if each.mode is not Mode.IDENTICAL:
            known = each.receipt or opened
            told.setdefault(known.reason or "its offsets differ", tp)
    for why, tp in [*told.items()][:_MOST_REASONS]:
        yield f"partition {tp.partition} has other offsets: {why}"
