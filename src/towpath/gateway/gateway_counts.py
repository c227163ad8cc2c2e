"""The counters of a gateway, and its metrics for Prometheus. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from towpath.gateway import metric_names as names
from towpath.ledger.entries import Promotion, PromotionStage
from towpath.metering.measurement import Measurement, alone, labelled
from towpath.metering.meter import Meter
from towpath.metering.metric import Metric
from towpath.model.reasons import Reason, ReasonCode

_WAYS = "promote", "revert"
_OUTCOMES = "done", "undone", "refused"
_CODES = tuple(
    code.value
    for code in (
        ReasonCode.PROMOTE_STRAY,
        ReasonCode.PROMOTE_GROUP_STRAY,
        ReasonCode.PROMOTE_OTHER_LINK,
        ReasonCode.PROMOTE_OPEN,
        ReasonCode.PROMOTE_CONFIGS,
        ReasonCode.ERROR,
    )
)


@dataclass(slots=True)
class ConnectionCounts:
    """Counts of client connections since the gateway began.

    Attributes:
        all: Connections, all that there were; `ended`, those that the gateway ended.
        requests: Frames from clients; `answers`, those to them.
        received: Bytes from clients; `sent`, those to them.
    """

    all: int = 0
    ended: int = 0
    requests: int = 0
    answers: int = 0
    received: int = 0
    sent: int = 0


@dataclass(slots=True)
class MoveCounts:
    """Counts of requests to move topics since the gateway began, by outcome.

    Attributes:
        moves: How many, by way and outcome.
        held: How many were done and for how long producers were held, by way, in ms.
        silent: The same of consumers.
        troubles: What somebody must see to, by code.
    """

    moves: Counter[tuple[str, str]] = field(default_factory=Counter)
    held: dict[str, tuple[int, int]] = field(default_factory=dict)
    silent: dict[str, tuple[int, int]] = field(default_factory=dict)
    troubles: Counter[str] = field(default_factory=Counter)

    def done(self, told: Promotion) -> None:
        """Count a finished request by its outcome; rehearsals are not counted."""
        if told.state == PromotionStage.TOLD:
            return
        way = _WAYS[told.back]
        is_done = told.state in {PromotionStage.PROMOTED, PromotionStage.REVERTED}
        self.moves[way, "done" if is_done else told.state] += 1
        if is_done:
            self.held[way] = _plus(self.held.get(way), told.held)
            self.silent[way] = _plus(self.silent.get(way), told.silent)

    def trouble(self, why: Reason) -> None:
        """Count a problem that needs the operator."""
        known = why.code.value
        self.troubles[known if known in _CODES else ReasonCode.ERROR.value] += 1


def _plus(known: tuple[int, int] | None, more: int) -> tuple[int, int]:
    number, total = known or (0, 0)
    return number + 1, total + more


@dataclass(frozen=True, slots=True)
class LeavingCounts:
    """How many clients a gateway has.

    Attributes:
        staying: Connected clients that were not shown the target's own addresses.
        leaving: Connected clients that were; they still have connections here.
        left: Clients that were, and whose last connection here ended.
    """

    staying: int = 0
    leaving: int = 0
    left: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayCounts:
    """All counters of a gateway at one moment.

    Attributes:
        connections: What connections did.
        moves: What became of requests to move topics.
        clients: Connections of clients now; `waiting`, those whose next request is held.
        brokers: Connections to brokers now.
        promoted: Topics that the target serves.
        away: Whether the source does not answer.
        leaving: Clients that stay, that leave, and that left.
        buffered: Bytes that wait for clients.
        turned_away: Connections that were closed by a limit.
    """

    connections: ConnectionCounts
    moves: MoveCounts
    clients: int
    waiting: int
    brokers: int
    promoted: int
    away: bool
    leaving: LeavingCounts = field(default_factory=LeavingCounts)
    buffered: int = 0
    turned_away: int = 0


class GatewayMeter(Meter[GatewayCounts]):
    """The latest counters of a gateway, for the metrics server."""

    def tell(self, counts: GatewayCounts) -> None:
        """Replace the counters with the present ones."""
        super().tell(counts)
        self.turned()


def measured(meter: GatewayMeter, version: str, link: str, gateway: str) -> Iterator[Measurement]:
    """Yield every metric of a gateway, also those without a series now.

    Args:
        meter: What was counted.
        version: The version of Towpath.
        link: The link.
        gateway: The gateway's own name.
    """
    yield Measurement(names.INFO, [((version, link, gateway), 1)])
    now = meter.newest
    if now is None:
        yield from (Measurement(each, []) for each in names.ALL[1:])
        return
    of, moves = now.connections, now.moves
    yield alone(names.CONNECTIONS, now.clients)
    yield alone(names.ALL_CONNECTIONS, of.all)
    yield alone(names.ENDED, of.ended)
    yield alone(names.BROKERS, now.brokers)
    yield labelled(names.FRAMES, {"request": of.requests, "answer": of.answers})
    yield labelled(names.BYTES, {"request": of.received, "answer": of.sent})
    yield alone(names.WAITING, now.waiting)
    yield alone(names.PROMOTED, now.promoted)
    kinds = [(way, outcome) for way in _WAYS for outcome in _OUTCOMES]
    yield Measurement(names.MOVES, [(kind, moves.moves[kind]) for kind in kinds])
    yield _summary(names.HELD, moves.held)
    yield _summary(names.SILENT, moves.silent)
    yield labelled(names.TROUBLES, {code: moves.troubles[code] for code in _CODES})
    yield alone(names.AWAY, int(now.away))
    leaving = now.leaving
    yield labelled(names.CLIENTS, {"staying": leaving.staying, "leaving": leaving.leaving})
    yield alone(names.LEFT, leaving.left)
    yield alone(names.BUFFERED, now.buffered)
    yield alone(names.TURNED_AWAY, now.turned_away)


def _summary(metric: Metric, found: dict[str, tuple[int, int]]) -> Measurement:
    return Measurement(
        metric, [((way,), (number, ms / 1000)) for way, (number, ms) in sorted(found.items())]
    )
