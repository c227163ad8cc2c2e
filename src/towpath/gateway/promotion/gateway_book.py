"""Entries of gateways in the ledger: their heartbeats, requests, and promoted topics. Blocking.

A gateway writes under a producer id of the link, with an epoch of its own. Whoever begins takes a
higher epoch, and from its first entry on the ledger refuses those of all before: so a gateway that
was frozen in the middle of a promotion cannot complete it behind its successor's back.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.cluster.data.client import Client
from towpath.gateway.promotion.company import SILENT, Company
from towpath.ledger.alive import is_gone, this_host, this_space
from towpath.ledger.entries import (
    TOGETHER,
    Entry,
    GatewayCall,
    GatewayReply,
    GatewaySign,
    LinkIdentity,
    Promoted,
    PromotedTopic,
    Promotion,
    PromotionStage,
    PromotionStep,
    RelayedId,
    Unreadable,
    encode,
)
from towpath.ledger.ledger import FACTS, Ledger
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError, LedgerError, RefusedError, TowpathError
from towpath.model.nouns import ClusterId, LinkName, Side, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.chance import CHANCE
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline
from towpath.wire import plain

_KINDS = frozenset(
    {
        GatewaySign.kind,
        Promotion.kind,
        Promoted.kind,
        GatewayCall.kind,
        GatewayReply.kind,
        RelayedId.kind,
    }
)
_OF_ALL = frozenset({LinkIdentity.kind, GatewaySign.kind, Promoted.kind})
"""Kinds that are read of all links."""
_OPEN = frozenset({PromotionStage.ASKED.value, PromotionStage.RUNNING.value})
_OLD_EPOCH = 47
_BEGINS, _NAP = 20, 0.3
"""How often a gateway tries to begin while others begin, and for how long it waits at most."""
_PATIENCE = 10.0
_RELAYED = 86_400_000
"""Milliseconds for which it counts that an id came through a gateway: as long as brokers remember
producers by default."""
_NO_WORD = 120.0
"""Seconds after which a gateway counts as lost that works on a request and says nothing of it: it
looks at both clusters meanwhile, and holds nobody."""


class OvertakenError(LedgerError):
    """The error of a gateway that another one has overtaken: it cannot decide any more."""


def _age(sign: GatewaySign) -> tuple[int, str]:
    return sign.started, sign.name


def done_state(asked: Promotion) -> PromotionStage:
    """Return the state of a request that is done."""
    return PromotionStage.REVERTED if asked.back else PromotionStage.PROMOTED


class GatewayBook:
    """Reader and writer of a link's gateway entries in the ledger; for one thread.

    Args:
        link: The link, opened for this object alone.

    Attributes:
        name: The name of this gateway.
        signs: The gateways that were heard of, by name.
        promoted: What moved to the target and back, by the name of the request, in its order; by
            gateways of this link, and of earlier ones between the same clusters.
        interrupted: Whether a gateway before this one ended in the middle of a move.
        eras: How often topics went back to the source, through gateways of any link.
        left: Since when clients of this gateway may leave, in ms since 1970; 0 for never.
        replies: The last word of each other gateway that takes part in promotions.
        relayed: Transactional ids that came through gateways of this link.
    """

    def __init__(self, link: OpenLink) -> None:
        self._link = link
        self._client = Client(link.config.target, Side.TARGET, link.target)
        self._ledger = Ledger(link.target, self._client)
        self._writer = link.target.producers.transactions(f"towpath.{link.name}.:gateway")
        self._who: ProducerEpoch | None = None
        self._sequence = 0
        self._asked: dict[str, Promotion] = {}
        self._running, self._withdrawn = set[str](), set[str]()
        self._sources: dict[LinkName, ClusterId] = {}
        self.name = uuid.uuid4().hex[:16]
        self._started = now_ms()
        self.signs: dict[str, GatewaySign] = {}
        self.promoted: dict[str, Promoted] = {}
        self.eras: dict[TopicName, int] = {}
        self.interrupted = False
        self.left = 0
        self.replies: dict[str, GatewayReply] = {}
        self.relayed: dict[str, RelayedId] = {}
        self._answers: dict[tuple[str, str], GatewayReply] = {}
        self._company = Company(self.name)

    def begin(self) -> None:
        """Fence earlier gateways, announce this one in the ledger, and read which topics moved.

        Raises:
            ClusterError: The target refuses it, or does not answer.
            LedgerError: The ledger is of no use, or a newer version wrote of this link.
        """
        self._ledger.create()
        for left in reversed(range(_BEGINS)):
            try:
                self._begin()
            except OvertakenError:  # another one begins at the same time
                if not left:
                    raise
                time.sleep(CHANCE.uniform(0, _NAP))
            else:
                return

    def _begin(self) -> None:
        self.renew()
        for asked in [*self._asked.values()]:
            if asked.state in _OPEN:
                self.interrupted |= self._settled(asked)
        self.read()

    def take_over(self, name: str) -> None:
        """Write what became of a request whose gateway was lost; from now on it cannot decide.

        Raises:
            TowpathError: The ledger cannot be read or written, or another gateway does it.
        """
        self.renew()
        asked = self._asked.get(name)
        if asked is not None and asked.state in _OPEN:
            self._settled(asked)

    def _settled(self, asked: Promotion) -> bool:
        """Write what became of an open request; return whether it was ended in its middle."""
        done = asked.name in self.promoted
        state = done_state(asked) if done else PromotionStage.UNDONE
        why = () if done else (Reason.of(ReasonCode.PROMOTE_ENDED),)
        self.note(replace(asked, state=state.value, reasons=why))
        section = self._link.config.gateway
        # Where clients read from the target, members are held on the way back alone.
        holds = asked.back or section is None or not section.reads_target
        return not done and holds and asked.state == PromotionStage.RUNNING

    def renew(self) -> None:
        """Take the highest epoch, announce this gateway with it, and read the ledger to its end."""
        self._fence()
        self._write([self._sign()])
        self.read()

    def settle(self) -> None:
        """Make sure that no earlier write can still arrive, and read the ledger to its end.

        Raises:
            ClusterError: The target does not answer; nothing is known.
        """
        try:
            self.renew()
        except LedgerError:  # another gateway has a higher epoch, which does the same
            self.read()

    def end(self) -> None:
        """Write to the ledger that this gateway serves no clients any more.

        It decides nothing, so it needs no epoch, and disturbs nobody who leads a promotion.
        """
        try:
            self._ledger.append([self._sign(over=True)])
        finally:
            self._client.close()

    def read(self, wait: float = 0.0) -> list[Promotion]:
        """Read new ledger entries; return the open requests.

        Args:
            wait: Seconds to wait for the first entry.
        """
        link = self._link.name
        found = self._ledger.read(
            FACTS,
            wait=wait,
            wanted=lambda key: key.kind in _OF_ALL or (key.kind in _KINDS and key.link == link),
        )
        for entry in found:
            match entry:
                case Unreadable():
                    raise entry.error
                case LinkIdentity():
                    self._sources.setdefault(entry.link, entry.source_cluster)
                case GatewaySign():
                    self.signs[entry.name] = entry
                    self._company.heard(entry.name)
                case GatewayReply():
                    self.replies[entry.gateway] = entry
                    self._answers[entry.gateway, entry.request] = entry
                    self._company.heard(entry.gateway)
                case RelayedId():
                    self.relayed[entry.id] = entry
                case GatewayCall():
                    self._company.heard(entry.leader)
                case Promotion():
                    self._heard(entry)
                    self._company.heard(entry.gateway)
                case Promoted():
                    self._moved(entry)
                case _:
                    pass
        return [each for each in self._asked.values() if each.state == PromotionStage.ASKED]

    def _moved(self, record: Promoted) -> None:
        if self._concerns(record):
            self.promoted[record.name] = record
        for each in record.topics:
            era = each.era + record.back
            self.eras[each.topic] = max(era, self.eras.get(each.topic, 0))

    def _concerns(self, record: Promoted) -> bool:
        """Whether topics moved that clients of this gateway may use.

        After a way back the next link between the same clusters has another name, and its gateway
        goes on where the one before ended.
        """
        link = self._link
        if record.link == link.name:
            return True
        if not any(link.config.topics.matches(each.topic) for each in record.topics):
            return False
        theirs, ours = self._sources.get(record.link), self._sources.get(link.name)
        if ours is None:
            try:
                ours = link.source.cluster.id()
            except ClusterError:
                return True
        return theirs in {None, ours}

    def promoted_groups(self) -> set[str]:
        """Return the groups that the target serves, as far as the ledger was read."""
        found = set[str]()
        for record in self.promoted.values():
            found = found - {*record.groups} if record.back else found | {*record.groups}
        return found

    def groups_alone(self) -> set[str]:
        """Return the groups that moved before their topics, and did not go back."""
        found = set[str]()
        for record in self.promoted.values():
            if record.back:
                found -= {*record.groups}
            elif not record.topics:
                found |= {*record.groups}
        return found

    def relayed_lately(self) -> list[RelayedId]:
        """Return the transactional ids that came through gateways of this link within a day."""
        since = now_ms() - _RELAYED
        return [each for each in self.relayed.values() if each.at >= since]

    def last_moves(self) -> dict[TopicName, tuple[Promoted, PromotedTopic]]:
        """Return the last move of each topic."""
        return {
            each.topic: (record, each)
            for record in self.promoted.values()
            for each in record.topics
        }

    def _heard(self, asked: Promotion) -> None:
        """Take in a request, or what became of it; what was written first holds."""
        if asked.state == PromotionStage.RUNNING:
            self._running.add(asked.name)
        is_withdrawn = asked.state == PromotionStage.UNDONE and not asked.gateway
        if is_withdrawn and asked.name not in self._running:
            self._withdrawn.add(asked.name)
        self._asked[asked.name] = asked

    @property
    def has_left(self) -> bool:
        """Whether clients of any gateway of this link may have left for the target."""
        return any(each.left and each.link == self._link.name for each in self.signs.values())

    def note_left(self) -> None:
        """Write to the ledger that clients may leave from now on.

        Raises:
            TowpathError: It may not be written; nobody may leave yet.
        """
        self.left = now_ms()
        try:
            self._write([self._sign()])
            self.read()
        except TowpathError:
            self.left = 0
            raise

    def take(self, asked: Promotion) -> bool:
        """Write that this gateway works on a request; return whether it may.

        Whoever asked takes a request back that nobody took, and may do so at the same time.
        """
        self.note(replace(asked, state=PromotionStage.RUNNING.value))
        self.read()
        return asked.name not in self._withdrawn

    def forget(self, asked: Promotion) -> None:
        """Drop a request that needs no more work."""
        self._asked.pop(asked.name, None)
        self._answers.clear()

    # Other gateways

    def others(self) -> list[GatewaySign]:
        """Return other gateways that may still serve clients of the same topics.

        They are of this link, or of one before it that moved some of its topics.
        """
        links = {self._link.name, *(record.link for record in self.promoted.values())}
        signs = [each for each in self.signs.values() if each.link in links]
        return self._company.living(signs)

    def company(self) -> list[GatewaySign]:
        """Return them, with those that ended so lately that brokers may still get something."""
        living = self.others()
        names = {each.name for each in living}
        late = self._company.ended_lately() - names
        return [*living, *(self.signs[name] for name in sorted(late) if name in self.signs)]

    def takes_part(self, sign: GatewaySign) -> bool:
        """Whether a gateway does what another one asks that leads a promotion."""
        return sign.together >= TOGETHER and sign.link == self._link.name

    def why_apart(self, sign: GatewaySign) -> str:
        """Return why a gateway does not take part, "" for no reason."""
        if sign.link != self._link.name:
            return f"it is of link {sign.link}"
        return "" if sign.together else "its version of Towpath promotes alone"

    def is_held(self, name: str) -> bool:
        """Whether brokers get nothing more of a gateway that does not answer."""
        reply = self.replies.get(name)
        return self._company.is_held(name, joined=reply is not None and reply.joined)

    @property
    def rank(self) -> int:
        """How many gateways are to take a request before this one: those that began before it."""
        signs = [each for each in (*self.others(), self._sign()) if self.takes_part(each)]
        return [each.name for each in sorted(signs, key=_age)].index(self.name)

    def led_by_others(self) -> list[Promotion]:
        """Return the requests that other gateways work on."""
        return [
            each
            for each in self._asked.values()
            if each.state == PromotionStage.RUNNING and each.gateway != self.name
            if not each.dry_run
        ]

    def is_lost(self, asked: Promotion) -> bool:
        """Whether the gateway that works on a request has ended, or is silent for too long."""
        sign = self.signs.get(asked.gateway)
        reply = self.replies.get(asked.gateway)
        joined = reply is not None and reply.joined and reply.request == asked.name
        ended = sign is None or sign.over or is_gone(sign)
        return ended or self._company.silent(asked.gateway) > (SILENT if joined else _NO_WORD)

    def answer(self, name: str, call: GatewayCall) -> GatewayReply | None:
        """Return what a gateway answered to a call, `None` as long as it did not."""
        found = self._answers.get((name, call.request))
        asked = call.leader, call.number
        return found if found is not None and (found.leader, found.number) == asked else None

    def call(self, call: GatewayCall) -> None:
        """Write what other gateways are asked to do.

        Raises:
            TowpathError: It cannot be written, or another gateway leads.
        """
        self._write([call])

    def tell(self, entries: Sequence[Entry]) -> None:
        """Write entries that decide nothing, whoever leads."""
        self._ledger.append(entries)

    @property
    def read_to(self) -> int:
        """How far the ledger was read."""
        return self._ledger.facts_end

    def note(self, asked: Promotion) -> None:
        """Write the state of a request to the ledger; rehearsals disturb nobody who leads."""
        asked = replace(asked, gateway=self.name)
        (self._ledger.append if asked.dry_run else self._write)([asked])
        self._asked[asked.name] = asked

    def reach(self, asked: Promotion, step: PromotionStep) -> None:
        """Write to the ledger that a request has reached a step, if that can be written now."""
        newest = self.newest(asked).reached(step, now_ms())
        self._asked[asked.name] = newest
        with suppress(TowpathError):  # it decides nothing
            self.note(replace(newest, state=PromotionStage.RUNNING.value))

    def newest(self, asked: Promotion) -> Promotion:
        """Return a request with the steps that it has reached."""
        return replace(asked, steps=self._asked.get(asked.name, asked).steps)

    def promote(self, record: Promoted) -> None:
        """Write the entry after which a promotion can no longer be undone.

        Raises:
            TowpathError: It may be written or not; `settle` finds out, and `promoted` tells.
        """
        self._write([record])
        self._moved(record)

    def _fence(self) -> None:
        self._who, self._sequence = self._writer.fence(Deadline.after(_PATIENCE)), 0

    def _sign(self, *, over: bool = False) -> GatewaySign:
        return GatewaySign(
            link=self._link.name,
            name=self.name,
            host=this_host(),
            pid=os.getpid(),
            space=this_space(),
            started=self._started,
            over=over,
            left=self.left,
            together=TOGETHER,
        )

    def _write(self, entries: Sequence[Entry]) -> None:
        if self._who is None:
            self._fence()
        assert self._who is not None  # noqa: S101
        now = now_ms()
        records = [plain.Record(*encode(each), (), now) for each in entries]
        batch = plain.encode(
            records,
            producer_id=self._who.producer_id,
            producer_epoch=self._who.epoch,
            base_sequence=self._sequence,
        )
        try:
            self._client.produce(FACTS, batch)
        except RefusedError as error:
            if error.error == _OLD_EPOCH:
                raise OvertakenError(
                    f"another gateway of link {self._link.name} has begun after this one, or"
                    " leads since"
                ) from error
            self._who = None
            raise
        except ClusterError:
            self._who = None  # it may arrive yet: later entries need an epoch above it
            raise
        self._sequence += len(records)
