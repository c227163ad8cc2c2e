"""Ledger entries by which several gateways of a link hold and release clients together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from towpath.model.nouns import LinkName

TOGETHER = 1
"""What a gateway says of itself that takes part in promotions which another gateway leads."""

Members = Mapping[str, tuple[str, ...]]
"""Names of members, by group."""


class GatewayTask(StrEnum):
    """What all gateways are asked to do for a promotion, and what they are asked to tell."""

    FACTS = "facts"
    """Tell of transactional ids, logins and clients; nothing begins."""
    JOIN = "join"
    """Take part from now on, and listen for clients of the target's brokers."""
    SEEN = "seen"
    """Tell which of these members came."""
    NOTE = "note"
    """Note the producers of batches that pass; `noted` tells them, and ends it."""
    NOTED = "noted"
    GATHER = "gather"
    """Hold back the members of groups."""
    TAKE_IN = "take_in"
    """Hold back those of more groups."""
    IDLE = "idle"
    """These members have no partitions to give back."""
    COME = "come"
    """Tell which of these members are held."""
    CLOSE = "close"
    """Hold commits, too, and tell when all that was sent is answered."""
    REOPEN = "reopen"
    TRANSACTIONS = "transactions"
    """Hold new transactions."""
    IDS = "ids"
    """Tell what transactional ids did."""
    LATE = "late"
    """Tell which other transactional ids wanted to begin one."""
    SEAL = "seal"
    """Hold all of transactions, and tell when all that was sent is answered."""
    UNSEAL = "unseal"
    ENDED = "ended"
    """These transactional ids have no open transaction."""
    HOLD = "hold"
    """Hold producers, and tell when all that was sent is answered."""
    UNDO = "undo"
    """Let everything go on as before; a gateway was lost meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayCall:
    """What the gateway that leads a promotion asks all gateways of the link to do.

    It decides nothing. Only the newest one of a link is kept.

    Attributes:
        request: The name of the request to promote.
        leader: The gateway that leads it.
        number: Counts the calls of a promotion.
        task: A value of `GatewayTask`.
        moves: How many moves of topics the leader knows: others wait until they know as many.
        topics: The topics that move.
        groups: The groups that move; `others`, other groups where clients are now.
        stay: Transactional ids that stay.
        copied: All topics that the link copies.
        ids: Transactional ids that the task is about.
        opened: Those of them with an open transaction.
        members: The members that the task is about.
        back: The topics go back to the source.
    """

    kind: ClassVar[str] = "gateway_call"

    link: LinkName
    request: str
    leader: str
    number: int
    task: str
    moves: int = 0
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    stay: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    members: Members = field(default_factory=dict)
    back: bool = False

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenId:
    """What a transactional id did through a gateway.

    Attributes:
        id: The transactional id.
        producer: Its last producer id.
        topics: The topics to which it wrote; `groups`, the groups whose offsets it committed.
        is_open: Whether it has an open transaction.
    """

    id: str
    producer: int
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenLogin:
    """A login of a client that a cluster accepted: the mechanism, and the user's name.

    With `token` it is one by a delegation token, and the name its id.
    """

    mechanism: str
    name: str
    token: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayReply:
    """What a gateway has done for a promotion, and a sign of life while one goes on.

    Only the newest one of a gateway is kept.

    Attributes:
        gateway: The gateway.
        request: The request; `leader`, who leads it; `number`, the call that is done, -1 for none.
        joined: It takes part: if it cannot tell of itself for some seconds, it holds its clients
            by itself until it knows the outcome.
        error: Why it cannot do what was asked, "" if it did.
        members: Members that the call asked for.
        ids: Transactional ids that it asked for.
        producers: Producer ids that it asked for.
        seen: What transactional ids did.
        logins: Logins of clients.
        told: What a rehearsal tells of its clients, in sentences.
        waiting: How many members of each group wait there, as it is not promoted.
        groups: The groups whose members came through it.
    """

    kind: ClassVar[str] = "gateway_reply"

    link: LinkName
    gateway: str
    request: str
    leader: str
    number: int
    joined: bool
    error: str = ""
    members: Members = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    producers: tuple[int, ...] = ()
    seen: tuple[SeenId, ...] = ()
    logins: tuple[SeenLogin, ...] = ()
    told: tuple[str, ...] = ()
    waiting: Mapping[str, int] = field(default_factory=dict)
    groups: tuple[str, ...] = ()

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.gateway,)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayedId:
    """A transactional id whose client came through a gateway: those that begin later know of it.

    Attributes:
        id: The transactional id.
        producers: The producer ids that it had last, as brokers know them.
        topics: The topics to which it wrote; `groups`, the groups for which it committed.
        at: When that was written, in ms since 1970.
    """

    kind: ClassVar[str] = "relayed_id"

    link: LinkName
    id: str
    producers: tuple[int, ...]
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.id,)
