"""Promotions from request to outcome: checks, one attempt at a time, and follow-up work.

The thread beside the connections does this; `promotion_attempt.py` has the steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from contextlib import ExitStack
from dataclasses import replace

from towpath.access.topic_writers import told_writers
from towpath.cluster.connect.throttling import throttled
from towpath.gateway.cluster_greeting import versions_of
from towpath.gateway.mirror_reads import MirrorReads
from towpath.gateway.promotion.automatic_promotion import Readiness
from towpath.gateway.promotion.deciding import UndecidedError
from towpath.gateway.promotion.fleet import FleetFacts
from towpath.gateway.promotion.gateway_entries import done_state
from towpath.gateway.promotion.group_promotion import GroupPromotion
from towpath.gateway.promotion.group_scope import group_scope, told_waiting
from towpath.gateway.promotion.known_producers import KnownProducers
from towpath.gateway.promotion.late_members import LateMembers
from towpath.gateway.promotion.leaving_gate import LeavingGate
from towpath.gateway.promotion.link_back import copying, link_back
from towpath.gateway.promotion.link_rights import hidden_groups, lacking_rights
from towpath.gateway.promotion.login_checks import check_logins
from towpath.gateway.promotion.mirroring_end import close_topics
from towpath.gateway.promotion.other_links import OtherLinks
from towpath.gateway.promotion.promotion_attempt import PromotionAttempt
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.promotion.promotion_scope import PromotionScope, scope_of
from towpath.gateway.promotion.readiness import Sequences, automatic_request, readiness_of
from towpath.gateway.promotion.stray_watch import StrayWatch
from towpath.gateway.promotion.target_members import of_strangers
from towpath.gateway.promotion.transaction_scope import elsewhere
from towpath.gateway.promotion.undo_errors import UndoneError
from towpath.ledger.entries import Promoted, Promotion, PromotionStage
from towpath.ledger.link import OpenLink
from towpath.model.amounts import counted
from towpath.model.errors import ConfigError, TowpathError
from towpath.model.nouns import LinkName, Side, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.deadline import Deadline

_PULSE = 3.0
"""Seconds within which a broker of the source answers, or the source counts as away."""
_MOST = 20
_PREPARES = 30.0
"""Seconds for which each part of what comes before anybody is held waits for quotas."""
_PREPARING = "writing and reading the ledger before a promotion"


class Promoter:
    """Carries out promotions and reversals, one at a time.

    Args:
        at: What to work with.

    Attributes:
        other_links: Keeps clients from topics of other links.
    """

    def __init__(self, at: PromotionResources) -> None:
        self._at = at
        self._strays = StrayWatch(at)
        self._open: list[Promoted] = []
        self._taken = set[str]()
        self._facts = FleetFacts()
        self._producers = KnownProducers(at)
        self._groups_known = True
        self._writers: Sequences | None = None
        self._gate = LeavingGate(at)
        self._late = LateMembers(at)
        self.other_links = OtherLinks(at)

    @property
    def is_behind(self) -> bool:
        """Whether the ledger has promotions that the connections do not know of yet.

        Another gateway moved them, while this one was taken for dead.
        """
        return self.other_links.is_behind or not self._taken.issuperset(self._at.book.promoted)

    def resume(self) -> list[Reason]:
        """Apply earlier moves, and complete their unfinished work; return the problems.

        Raises:
            TowpathError: A cluster does not answer.
        """
        at, all_of_them = self._at, self._at.book.promoted
        self.other_links.bar(mirrors=self._mirror is not None)
        records = [each for name, each in all_of_them.items() if name not in self._taken]
        if not records:
            return []
        problems = at.call(at.gateway.show_target)
        if problems:
            raise ConfigError(problems)

        def take() -> set[str]:
            routes = at.gateway.routes
            for each in records:
                routes.move(each)
            at.gateway.wake()
            return {*routes.topics}

        topics = at.call(take)
        self._taken.update(each.name for each in records)
        at.link.read()
        self._open = [each for each in all_of_them.values() if each.link == at.link.name]
        at.see(at.link.target.topics.with_brokers(map(TopicName, topics)))
        self._producers.unasked |= {*_places(records)}
        self._groups_known = False
        troubles = self._close()
        self._ask()
        return troubles

    def _ask(self) -> None:
        """Ask what a gateway that begins must know of both clusters, if they are there."""
        at = self._at
        self._producers.ask(source_away=self._source_away)
        if self._groups_known or self._source_away:
            return
        at.link.look()
        groups = at.link.source.groups.listed().groups
        routes = at.gateway.routes
        moved, topics, ids = at.call(
            lambda: ({*routes.groups}, {*routes.topics}, {*routes.transactions.moved})
        )
        stay = self._staying(ids, topics)

        def bound() -> None:
            at.bound(frozenset(groups.keys() - moved))
            routes.transactions.stay = stay

        at.call(bound)
        self._groups_known = True

    @property
    def _source_away(self) -> bool:
        return self._at.call(lambda: self._at.gateway.routes.source_away)

    def pulse(self) -> None:
        """Check whether the source answers, if any topic is promoted.

        What is promoted is served without it. When it is back, what was left is asked.
        """
        at = self._at
        if not at.book.promoted:
            return
        away, why = self._source_away, None
        try:
            brokers = at.link.source.cluster.pulse(_PULSE)
            source = at.link.config.source
            versions = versions_of(source, Side.SOURCE, brokers) if away else {}
        except TowpathError as error:
            why = error
        if why is not None and not away:
            at.call(lambda: at.source_is_away(why))
        elif why is None and away:
            at.call(lambda: at.source_is_back(brokers, versions))

    def refresh(self) -> list[Reason]:
        """Look at promoted topics again; return the problems that need the operator.

        Raises:
            TowpathError: A cluster does not answer.
        """
        at, routes = self._at, self._at.gateway.routes
        topics = at.call(lambda: {*routes.topics} | routes.coming)
        if not self._at.book.promoted:
            return []
        at.see(at.link.target.topics.with_brokers(map(TopicName, topics)))
        early = at.call(lambda: {*routes.early})
        self._producers.unasked |= {TopicPartition(TopicName(topic), part) for topic, part in early}
        self._gate.look()  # before the source is asked: clients leave without it
        self._ask()
        troubles = self._close() if self._open else []
        away = self._source_away
        return troubles + self._strays.look(source_away=away) + self._late.look(source_away=away)

    def _close(self) -> list[Reason]:
        """End the mirroring of topics that may still be copied."""
        troubles, left = list[Reason](), list[Promoted]()
        away = self._source_away
        led = {each.name for each in self._at.book.led_by_others()}
        for record in self._open:
            if record.name in led:  # whoever leads it does it
                left.append(record)
                continue
            if record.back and away:  # the ledger of the link back is there
                left.append(record)
                continue
            with copying(self._at.link, record.copied_by) as link:
                closed = close_topics(link, record)
            troubles += closed.troubles
            left += [record] if closed.again else []
        self._open = left
        return troubles

    def ready(self) -> Readiness:
        """Return whether all topics of the link could be promoted now.

        Raises:
            TowpathError: A cluster does not answer.
        """
        self._at.link.look()
        scope = self._scope(self._at.link, automatic_request(self._at.link.name))
        before, self._writers = self._writers, scope.sequences
        return readiness_of(self._at, scope, before)

    def promote(self, asked: Promotion) -> Promotion | None:
        """Carry out a promotion or undo it; return its outcome, `None` if it was withdrawn.

        Raises:
            UndecidedError: The gateway shall end, and it is not known what became of it.
        """
        book = self._at.book
        self._bound_waits()
        try:
            return self._done(asked, book.throttled)
        finally:
            book.wait_until(None)

    def _bound_waits(self) -> None:
        """Let this part of what comes before a promotion wait so long for quotas, and no longer."""
        self._at.book.wait_until(Deadline.after(_PREPARES))

    def _done(self, asked: Promotion, before: float) -> Promotion | None:
        at, scope, link = self._at, PromotionScope({}), self._at.link
        self._facts, told = FleetFacts(), tuple[str, ...]()
        with ExitStack() as stack:
            try:
                if asked.dry_run:
                    at.book.read()
                else:
                    at.book.renew()
                if not at.book.take(asked):
                    return None
                at.link.look()
                if asked.groups:
                    return self._of_groups(asked)
                name = link_back(at.link, asked.topics) if asked.back else link.name
                forbidden = self._of_way_back(asked, name)
                if name is not None and not forbidden:
                    link = stack.enter_context(copying(at.link, name))
                    self._bound_waits()
                    scope = self._scope(link, asked)
                    forbidden = [*scope.forbidden, *self._of_reads(asked, scope)]
                if asked.dry_run:
                    self._bound_waits()
                    forbidden += of_strangers(at.fleet, link, scope.groups)
                    told = _first_of([*self._told(scope, link), *self._facts.told])
            except TowpathError as error:
                forbidden = [error.reason]
            forbidden += self._of_quotas(at.book.throttled - before)
            if asked.dry_run:
                state = PromotionStage.TOLD.value
                return replace(asked, state=state, told=told, reasons=tuple(forbidden[:_MOST]))
            if forbidden:
                state = PromotionStage.REFUSED.value
                return replace(asked, state=state, reasons=tuple(forbidden[:_MOST]))
            return self._tried(asked, scope, link)

    def _of_quotas(self, waited: float) -> Iterator[Reason]:
        """Yield why the ledger would be too slow: the target made us wait while all was prepared.

        Args:
            waited: For how many seconds.
        """
        section = self._at.link.config.gateway
        if section is not None and waited > float(section.hold) / 2:
            yield throttled(Side.TARGET, _PREPARING, waited).reason

    def _of_way_back(self, asked: Promotion, name: LinkName | None) -> list[Reason]:
        """Return why topics cannot go back whatever both clusters have.

        Args:
            asked: The request.
            name: The link that would copy.
        """
        unknown = self._never_moved(asked) if asked.back else []
        if asked.back and self._at.book.has_left:
            return [Reason.of(ReasonCode.REVERT_LEFT)]
        if unknown:
            return [Reason.of(ReasonCode.REVERT_NOTHING, topic=each) for each in unknown]
        return [Reason.of(ReasonCode.REVERT_NO_LINK)] if name is None else []

    def _never_moved(self, asked: Promotion) -> list[TopicName]:
        """Return the topics of a request that no gateway ever promoted."""
        routes = self._at.gateway.routes
        known = self._at.call(lambda: {*routes.eras})
        return [name for name in asked.topics if name not in known]

    @property
    def _mirror(self) -> MirrorReads | None:
        return self._at.gateway.routes.mirror

    def _of_reads(self, asked: Promotion, scope: PromotionScope) -> Iterator[Reason]:
        """Yield why topics of which clients read mirrors do not go back: not all of them would."""
        if not asked.back or self._mirror is None or not scope.topics:
            return
        routes = self._at.gateway.routes
        every = self._at.copied | self._at.call(lambda: {*routes.topics})
        left = every - {*scope.topics}
        if left:
            yield Reason.of(ReasonCode.REVERT_READS, topic=min(left))

    def _of_groups(self, asked: Promotion) -> Promotion:
        """Promote groups without their topics; return what became of it.

        Raises:
            TowpathError: A cluster does not answer, and nothing has changed.
            UndecidedError: The gateway shall end, and it is not known what became of it.
        """
        at, mirror = self._at, self._mirror
        if mirror is None:
            why = "clients of this gateway read at the source (`gateway.reads`)"
            first = Reason.of(ReasonCode.PROMOTE_GROUP, group=asked.groups[0], why=why)
            return replace(asked, state=PromotionStage.REFUSED.value, reasons=(first,))
        facts = at.fleet.facts()
        scope = group_scope(at, mirror, facts, asked.groups)
        at.book.wait_until(None)
        known = [group for group, each in scope.groups.items() if each is not None]
        rights = lacking_rights(at.link, at.link, (), known)
        forbidden = tuple([*facts.forbidden, *scope.forbidden, *rights][:_MOST])
        if asked.dry_run:
            forbidden += tuple(of_strangers(at.fleet, at.link, scope.groups))
            state, told = PromotionStage.TOLD.value, _first_of([*scope.told, *facts.told])
            return replace(asked, state=state, told=told, reasons=forbidden)
        if forbidden:
            return replace(asked, state=PromotionStage.REFUSED.value, reasons=forbidden)
        try:
            return GroupPromotion(at, asked, scope).go()
        except UndoneError as error:
            return self._failed(asked, error.why)
        except TowpathError as error:
            return self._failed(asked, error.reason)
        finally:
            if asked.name in at.book.promoted:
                self._taken.add(asked.name)

    def _scope(self, link: OpenLink, asked: Promotion) -> PromotionScope:
        routes, mirror = self._at.gateway.routes, self._mirror
        facts = self._facts = self._at.fleet.facts()
        promoted, ids, seen = self._at.call(
            lambda: ({*routes.topics}, routes.transactions.copy(), routes.seen.groups())
        )
        ids.learn(facts.seen)
        settled = frozenset[str]() if asked.back else self._at.book.groups_alone()
        scope = scope_of(link, asked.topics, promoted, ids, back=asked.back, settled=settled)
        if mirror is not None and not asked.back:
            scope.told += told_waiting(link, scope.groups.values(), facts.waiting)
        if not asked.back:
            moved = {*ids.moved} | scope.transactional
            scope.stay = self._staying(moved, promoted | scope.topics.keys())
        check_logins(link, scope, sorted(facts.logins))
        rights = lacking_rights(self._at.link, link, scope.mirrors, scope.groups)
        hidden = hidden_groups(link, seen | facts.groups, scope)
        scope.forbidden = [*facts.forbidden, *scope.forbidden, *rights, *hidden]
        return scope

    def _staying(self, moved: Set[str], promoted: Set[str]) -> frozenset[str]:
        """Return the transactional ids that write to topics which are not promoted."""
        known = self._at.link.source.producers.transactional_ids()
        names = {number: name for number, name in known.items() if name not in moved}
        return frozenset(elsewhere(self._at.link, names, map(TopicName, promoted)))

    def _tried(self, asked: Promotion, scope: PromotionScope, link: OpenLink) -> Promotion:
        is_known = True
        try:
            return PromotionAttempt(self._at, asked, scope, link).go()
        except UndecidedError:
            is_known = False
            raise
        except UndoneError as error:
            return self._failed(asked, error.why)
        except TowpathError as error:
            return self._failed(asked, error.reason)
        finally:
            if is_known:
                self._settled(asked)

    def _settled(self, asked: Promotion) -> None:
        """Let everything go on, and keep in mind what moved."""
        record = self._at.book.promoted.get(asked.name)
        self._release(asked.name, record)
        if record is not None:
            self._taken.add(record.name)
            self._open.append(record)

    def _failed(self, asked: Promotion, why: Reason) -> Promotion:
        asked = self._at.book.newest(asked)
        is_done = asked.name in self._at.book.promoted
        state = done_state(asked) if is_done else PromotionStage.UNDONE
        return replace(asked, state=state.value, reasons=(why,))

    def _release(self, request: str, record: Promoted | None) -> None:
        """Let everything go on: where it moved to if it did, as before if not."""
        at, is_lost = self._at, bool(self._at.fleet.lost)
        if record is None:
            at.fleet.undo()
        owner, is_lost = (at.book.name, request), is_lost and record is None
        at.call(lambda: at.part.release(owner, record, interrupted=is_lost))

    def _told(self, scope: PromotionScope, link: OpenLink) -> Iterator[str]:
        """Tell what a promotion would hold, and who is connected."""
        if not scope.topics:
            return
        section = self._at.link.config.gateway
        at_most = f", for {section.hold} at most" if section else ""
        yield (
            f"producers of {counted(len(scope.topics), 'topic')} with"
            f" {counted(len(scope.partitions), 'partition')} would be held{at_most}:"
            f" {', '.join(sorted(scope.topics))}"
        )
        ids = {each.id for states in scope.producers.values() for each in states}
        yield f"{counted(len(ids), 'idempotent producer')} of this gateway wrote to them"
        if scope.transactional:
            names = sorted(scope.transactional)
            yield (
                f"{counted(len(names), 'transactional producer')} would move with them, once"
                f" transactions have ended: {', '.join(names)}"
            )
        members = link.source.groups.members(scope.groups.values())
        found = {group.name: [each.id for each in part] for group, part in members.items()}
        away = self._at.fleet.unseen(found)
        through = "through this gateway" if not self._at.book.others() else "through the gateways"
        for group, part in members.items():
            unseen = away.get(group.name, [])
            here = len(part) - len(unseen)
            yield f"{group}: {here} of {counted(len(part), 'member')} came {through}"
            yield from (
                f"{group}: {each} does not come through it" for each in part if each.id in unseen
            )
        yield from scope.told
        yield from told_writers(link.target, link.config.target.login, scope.topics.keys())


def _places(records: Iterable[Promoted]) -> Iterator[TopicPartition]:
    for record in records:
        for each in record.topics:
            yield from (TopicPartition(each.topic, part.partition) for part in each.partitions)


def _first_of(lines: Iterable[str]) -> tuple[str, ...]:
    """Return some of many sentences, and how many more there are."""
    every = [*lines]
    more = [f"and {len(every) - _MOST} more"] if len(every) > _MOST else []
    return tuple(every[:_MOST] + more)
