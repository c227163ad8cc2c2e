"""Entries of gateways in the ledger: their heartbeats, requests, and promoted topics. Blocking.

A gateway writes under a producer id of the link, with an epoch of its own. Whoever begins takes a
higher epoch, and from its first entry on the ledger refuses those of all before: so a gateway that
was frozen in the middle of a promotion cannot complete it behind its successor's back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace

from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.cluster.connect.throttling import ThrottledError
from towpath.cluster.data.client import Client
from towpath.gateway.promotion.gateway_entries import GatewayEntries, done_state
from towpath.ledger.alive import birth, this_host, this_space
from towpath.ledger.entries import (
    TOGETHER,
    Entry,
    GatewayCall,
    GatewayReply,
    GatewaySign,
    LinkIdentity,
    Promoted,
    Promotion,
    PromotionStage,
    PromotionStep,
    RelayedId,
    encode,
)
from towpath.ledger.events import What
from towpath.ledger.ledger import FACTS, Ledger
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError, LedgerError, RefusedError, TowpathError
from towpath.model.nouns import Side
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
_BEHIND = frozenset({PromotionStep.DECIDED, PromotionStep.CLOSED})
"""Steps behind the decision."""
_OLD_EPOCH = 47
_BEGINS, _NAP = 20, 0.3
"""How often a gateway tries to begin while others begin, and for how long it waits at most."""
_PATIENCE = 10.0


class OvertakenError(LedgerError):
    """The error of a gateway that another one has overtaken: it cannot decide any more."""


class GatewayBook(GatewayEntries):
    """Reader and writer of a link's gateway entries in the ledger; for one thread.

    Args:
        link: The link, opened for this object alone.

    Attributes:
        interrupted: Whether a gateway before this one ended in the middle of a move, or a move that
            was undone lately held members.
        left: Since when clients of this gateway may leave, in ms since 1970; 0 for never.
        may_arrive: Whether what was written last may be in the ledger, also where that failed.
    """

    def __init__(self, link: OpenLink) -> None:
        super().__init__(link)
        self._client = Client(link.config.target, Side.TARGET, link.target)
        self._ledger = Ledger(link.target, self._client)
        self._writer = link.target.producers.transactions(f"towpath.{link.name}.:gateway")
        self._who: ProducerEpoch | None = None
        self._sequence, self._is_known = 0, False
        self._started = now_ms()
        self.interrupted = False
        self.left = 0
        self.may_arrive = False

    @property
    def throttled(self) -> float:
        """Seconds for which the target asked this thread to wait so far."""
        return self._client.throttled + self._link.ledger.throttled

    def wait_until(self, patience: Deadline | None) -> None:
        """Let calls wait no longer than this for a target that throttles; see `Ledger`."""
        self._ledger.wait_until(patience)
        self._link.ledger.wait_until(patience)

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
        self.interrupted |= self.held_in_vain()
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
        told = replace(asked, state=state.value, reasons=why)
        self.note(told)
        if not asked.dry_run:
            self.record(told)
        return not done and self.holds_members(asked) and asked.state == PromotionStage.RUNNING

    def record(self, done: Promotion) -> None:
        """Add what became of a request to the history of the link, once for each request."""
        moved = self.promoted.get(done.name)
        topics = [each.topic for each in moved.topics] if moved is not None else done.topics
        facts = {
            "state": done.state,
            "back": done.back,
            "topics": [*map(str, topics)],
            "groups": [*(moved.groups if moved is not None else done.groups)],
            "held": done.held,
            "silent": done.silent,
            "user": done.user,
            "host": done.host,
            "why": done.reason,
        }
        self._link.events.tell_once(done.name, What.PROMOTION_ENDED, "", facts)

    def renew(self) -> None:
        """Take the highest epoch, announce this gateway with it, and read the ledger to its end."""
        self._fence()
        self._write([self._sign()])
        self._is_known = True
        self.read()

    def settle(self) -> None:
        """Make sure that no earlier write can still arrive, and read the ledger to its end.

        Raises:
            ClusterError: The target does not answer; nothing is known.
        """
        self.wait_until(None)
        try:
            self.renew()
        except LedgerError:  # another gateway has a higher epoch, which does the same
            self.read()

    def end(self) -> None:
        """Write to the ledger that this gateway serves no clients any more.

        It decides nothing, so it needs no epoch, and disturbs nobody who leads a promotion. Of one
        that could not begin nobody ever heard.
        """
        try:
            if self._is_known:
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
            self.take_in(entry)
        return [each for each in self._asked.values() if each.state == PromotionStage.ASKED]

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

    @property
    def rank(self) -> int:
        """How many gateways are to take a request before this one: those that began before it."""
        signs = [each for each in (*self.others(), self._sign()) if self.takes_part(each)]
        return [
            each.name for each in sorted(signs, key=lambda sign: (sign.started, sign.name))
        ].index(self.name)

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
        """Write to the ledger that a request has reached a step, if that can be written now.

        Raises:
            RefusedError: The login lacks a right, so nothing could be decided.
        """
        newest = self.newest(asked).reached(step, now_ms())
        self._asked[asked.name] = newest
        try:
            self.note(replace(newest, state=PromotionStage.RUNNING.value))
        except RefusedError as error:
            if error.forbidden and step not in _BEHIND:
                raise
        except TowpathError:  # it decides nothing
            pass

    def promote(self, record: Promoted) -> None:
        """Write the entry after which a promotion can no longer be undone.

        Raises:
            TowpathError: Where `may_arrive` is set, it may be written or not; `settle` finds out,
                and `promoted` tells. Otherwise it is not written.
        """
        self._write([record])
        self.moved(record)

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
            born=birth(),
        )

    def _write(self, entries: Sequence[Entry]) -> None:
        self.may_arrive = False
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
        failures, self.may_arrive = self._client.failures, True
        try:
            self._client.produce(FACTS, batch)
        except RefusedError as error:
            self.may_arrive = not (error.forbidden and self._client.failures == failures + 1)
            if error.error == _OLD_EPOCH:
                raise OvertakenError(
                    f"another gateway of link {self._link.name} has begun after this one, or"
                    " leads since"
                ) from error
            self._who = None
            raise
        except ThrottledError:
            self.may_arrive = self._client.failures > failures
            self._who = None if self.may_arrive else self._who
            raise
        except ClusterError:
            self._who = None  # later entries need an epoch above it
            raise
        self._sequence += len(records)
