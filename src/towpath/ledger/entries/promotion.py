"""Ledger entries about gateways, and about topics and groups that they move to the target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from towpath.model.nouns import NO_LINK, LinkName, TopicId, TopicName
from towpath.model.reasons import Reason, sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySign:
    """A gateway of a link that began to serve clients, or has ended.

    Attributes:
        name: A name of its own.
        host: Where it runs; `pid`, `space` and `born`, which process there.
        started: When it began, in ms since 1970.
        over: It has ended, and serves nobody.
        left: Since when its clients may go on at the target without it, in ms since 1970; 0 for
            never.
        together: Whether it takes part in promotions that another gateway leads: 0 for no, as those
            of older versions, or `TOGETHER`.
    """

    kind: ClassVar[str] = "gateway"

    link: LinkName
    name: str
    host: str
    pid: int
    space: str
    started: int
    over: bool = False
    left: int = 0
    together: int = 0
    born: int = 0

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.name,)


class PromotionStage(StrEnum):
    """The stages of a request to promote topics."""

    ASKED = "asked"
    RUNNING = "running"
    """A gateway works on it; nothing is decided."""
    TOLD = "told"
    """It was a rehearsal, and is answered."""
    REFUSED = "refused"
    UNDONE = "undone"
    """It did not succeed, and everything is as before."""
    PROMOTED = "promoted"
    REVERTED = "reverted"
    """It was a request to go back to the source, and is done."""


class PromotionStep(StrEnum):
    """The steps of a promotion that are told while it goes on, in their order."""

    BEGUN = "begun"
    NEAR = "near"
    """The target has nearly all records."""
    GATHERED = "gathered"
    """Members of the groups are held, and have committed."""
    WRITTEN = "written"
    """Their offsets are written; producers are held, or will be at once."""
    DECIDED = "decided"
    """The record is in the ledger, and producers go on."""
    CLOSED = "closed"
    """The link copies the topics no more, and consumers go on."""


@dataclass(frozen=True, slots=True)
class PromotionStepDone:
    """A step that a promotion has reached.

    Attributes:
        step: A value of `PromotionStep`, or one that a later version added.
        at: When, in ms since 1970.
    """

    step: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A request to promote topics or to revert that, with its stage and outcome.

    `towpath promote` or `towpath revert` writes it first, a gateway from then on. It decides
    nothing: what holds is whether there is a `Promoted` of the same name.

    Attributes:
        name: A name of its own.
        state: A value of `PromotionStage`.
        topics: The topics of the request, none for all of the link.
        dry_run: Nothing is to be changed.
        user: Who asked; `host`, on which machine; `at`, when, in ms since 1970.
        gateway: The gateway that works on it, "" for none yet.
        told: What a rehearsal tells, in sentences.
        reasons: Why it is not done, or what somebody must see to after it.
        held: How long producers were held, in ms.
        silent: How long consumers were held, in ms.
        back: The topics are to go back to the source.
        steps: What was done of it, in its order.
        groups: Groups that are to be promoted without their topics; there are no `topics` then.
    """

    kind: ClassVar[str] = "promotion"

    link: LinkName
    name: str
    state: str
    topics: tuple[TopicName, ...]
    dry_run: bool
    user: str
    host: str
    at: int
    gateway: str = ""
    told: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    held: int = 0
    silent: int = 0
    back: bool = False
    steps: tuple[PromotionStepDone, ...] = ()
    groups: tuple[str, ...] = ()

    def reached(self, step: PromotionStep, at: int) -> Promotion:
        """Return the request once it has reached a step at a time in ms since 1970."""
        return replace(self, steps=(*self.steps, PromotionStepDone(step.value, at)))

    @property
    def reason(self) -> str:
        """The reasons as a sentence, "" for none."""
        return sentence(self.reasons)

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.name,)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastBatch:
    """The last batch of a producer that the cluster which is left held in a partition at the cut.

    Attributes:
        id: The producer id, as that cluster knows it.
        epoch: Its epoch.
        sequence: The sequence of the batch's last record.
    """

    id: int
    epoch: int
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotedPartition:
    """A partition at the cut.

    Attributes:
        partition: Its number.
        end: Where both logs ended.
        producers: What the cluster that is left held of each producer of the gateway.
    """

    partition: int
    end: int
    producers: tuple[LastBatch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotedTopic:
    """A topic at the cut.

    Attributes:
        topic: Its name, the same on both clusters.
        source_id: Its id at the source; `target_id`, that on the target.
        partitions: Its partitions.
        era: How often it went back to the source before.
    """

    topic: TopicName
    source_id: TopicId
    target_id: TopicId
    partitions: tuple[PromotedPartition, ...]
    era: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NextSequence:
    """The sequence with which a transactional producer goes on in a partition, as it counts."""

    topic: TopicName
    partition: int
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedTransactional:
    """A transactional id at the cut: its identity as its client has it, and where it goes on.

    Attributes:
        id: The transactional id.
        left_id: The producer id that its client holds; `left_epoch`, the epoch. They are those of
            the cluster that is left, or of the one before, where the client got no new ones since.
        there_id: Its producer id where it goes on; `there_epoch`, the epoch.
        ended: How its last transaction ended, in Kafka's words.
        sequences: Where it does not go on with sequence 0. There it is sequence 0, as brokers want
            it of a new epoch (`ProducerAppendInfo.checkSequence`).
    """

    id: str
    left_id: int
    left_epoch: int
    there_id: int
    there_epoch: int
    ended: str
    sequences: tuple[NextSequence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """Topics and groups that another cluster serves from now on: the point of no return.

    It is the target, or the source again if `back` is set.

    One record holds all of a promotion. It is written under a producer id of the link, whose older
    epochs the ledger refuses; so a gateway that was replaced cannot write it any more.

    Attributes:
        name: The name of the request.
        topics: The topics; none where groups move before their topics.
        groups: The groups of consumers that move with them.
        at: When, in ms since 1970.
        back: They go back to the source.
        by: The link that copied them, "" for the gateway's own.
        stay: Groups that the target still serves, of those that could go back.
        transactional: The transactional ids that move with them.
        staying: Transactional ids that the target still serves, of those that could go back.
    """

    kind: ClassVar[str] = "promoted"

    link: LinkName
    name: str
    topics: tuple[PromotedTopic, ...]
    groups: tuple[str, ...]
    at: int
    back: bool = False
    by: LinkName = NO_LINK
    stay: tuple[str, ...] = ()
    transactional: tuple[MovedTransactional, ...] = ()
    staying: tuple[str, ...] = ()

    @property
    def copied_by(self) -> LinkName:
        """The link that copied the topics."""
        return self.by or self.link

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.name,)
