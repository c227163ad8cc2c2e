"""Entries of gateways in the ledger: their heartbeats, requests, and promoted topics. Blocking.

A gateway writes under a producer id of the link, with an epoch of its own. Whoever begins takes a
higher epoch, and from its first entry on the ledger refuses those of all before: so a gateway that
was frozen in the middle of a promotion cannot complete it behind its successor's back.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.cluster.data.client import Client
from towpath.ledger.alive import is_gone, this_host, this_space
from towpath.ledger.entries import (
    Entry,
    GatewaySign,
    LinkIdentity,
    Promoted,
    PromotedTopic,
    Promotion,
    PromotionStage,
    PromotionStep,
    Unreadable,
    encode,
)
from towpath.ledger.ledger import FACTS, Ledger
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError, LedgerError, RefusedError, TowpathError
from towpath.model.nouns import ClusterId, LinkName, Side, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline
from towpath.wire import plain

_KINDS = frozenset({GatewaySign.kind, Promotion.kind, Promoted.kind})
_OF_ALL = frozenset({LinkIdentity.kind, GatewaySign.kind, Promoted.kind})
"""Kinds that are read of all links."""
_OPEN = frozenset({PromotionStage.ASKED.value, PromotionStage.RUNNING.value})
_OLD_EPOCH = 47
_PATIENCE = 10.0


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
        self.signs: dict[str, GatewaySign] = {}
        self.promoted: dict[str, Promoted] = {}
        self.eras: dict[TopicName, int] = {}
        self.interrupted = False
        self.left = 0

    def begin(self) -> None:
        """Fence earlier gateways, announce this one in the ledger, and read which topics moved.

        Raises:
            ClusterError: The target refuses it, or does not answer.
            LedgerError: The ledger is of no use, or a newer version wrote of this link.
        """
        self._ledger.create()
        self.renew()
        for asked in [*self._asked.values()]:
            if asked.state in _OPEN:
                done = asked.name in self.promoted
                self.interrupted |= not done and asked.state == PromotionStage.RUNNING
                state = done_state(asked) if done else PromotionStage.UNDONE
                why = () if done else (Reason.of(ReasonCode.PROMOTE_ENDED),)
                self.note(replace(asked, state=state.value, reasons=why))
        self.read()

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

        It takes the highest epoch for that, as gateways that began after it would wait for it else.
        Nothing of theirs is disturbed: nobody promotes before this is told.
        """
        try:
            self._fence()
            self._write([self._sign(over=True)])
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
                case Promotion():
                    self._heard(entry)
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

    def others(self) -> list[GatewaySign]:
        """Return other gateways that may still serve clients of the same topics.

        They are of this link, or of one before it that moved some of its topics.
        """
        links = {self._link.name, *(record.link for record in self.promoted.values())}
        return [
            each
            for each in self.signs.values()
            if each.link in links and each.name != self.name and not each.over and not is_gone(each)
        ]

    def note(self, asked: Promotion) -> None:
        """Write the state of a request to the ledger."""
        self._write([replace(asked, gateway=self.name)])
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
            started=now_ms(),
            over=over,
            left=self.left,
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
                raise LedgerError(
                    f"another gateway of link {self._link.name} has begun after this one; stop one"
                    " of them"
                ) from error
            self._who = None
            raise
        except ClusterError:
            self._who = None  # it may arrive yet: later entries need an epoch above it
            raise
        self._sequence += len(records)
