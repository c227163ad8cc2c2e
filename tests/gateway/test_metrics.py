"""Metrics of a gateway: their names are frozen, and what happened is counted."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from towpath.gateway import metric_names
from towpath.gateway.gateway_counts import (
    ConnectionCounts,
    GatewayCounts,
    GatewayMeter,
    MoveCounts,
    measured,
)
from towpath.ledger.entries import Promotion, PromotionStage
from towpath.metering.collector import MeasurementCollector
from towpath.model.nouns import LinkName
from towpath.model.reasons import Reason, ReasonCode

FROZEN = [
    ("towpath_gateway_info", ("version", "link", "gateway")),
    ("towpath_gateway_connections", ()),
    ("towpath_gateway_connections_total", ()),
    ("towpath_gateway_ended_connections_total", ()),
    ("towpath_gateway_broker_connections", ()),
    ("towpath_gateway_frames_total", ("direction",)),
    ("towpath_gateway_bytes_total", ("direction",)),
    ("towpath_gateway_waiting_connections", ()),
    ("towpath_gateway_promoted_topics", ()),
    ("towpath_gateway_moves_total", ("way", "outcome")),
    ("towpath_gateway_held_seconds", ("way",)),
    ("towpath_gateway_silent_seconds", ("way",)),
    ("towpath_gateway_troubles_total", ("code",)),
    ("towpath_gateway_source_away", ()),
    ("towpath_gateway_clients", ("state",)),
    ("towpath_gateway_left_clients_total", ()),
    ("towpath_gateway_buffered_bytes", ()),
    ("towpath_gateway_turned_away_connections_total", ()),
]


def test_names_and_labels_stay() -> None:
    assert [(each.name, each.labels) for each in metric_names.ALL] == FROZEN


def scraped(meter: GatewayMeter) -> list[str]:
    registry = CollectorRegistry()
    registry.register(MeasurementCollector(lambda: measured(meter, "1.0", "eu", "a1")))
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if not line.startswith("#")]


def told(state: PromotionStage, *, back: bool = False, held: int = 0) -> Promotion:
    return Promotion(
        link=LinkName("eu"), name="n", state=state.value, topics=(), dry_run=False, user="u",
        host="h", at=1, back=back, held=held, silent=10 * held,
    )  # fmt: skip


def test_before_clients_are_served_only_the_name_is_told() -> None:
    meter = GatewayMeter()
    assert not meter.ready
    assert scraped(meter) == ['towpath_gateway_info{gateway="a1",link="eu",version="1.0"} 1.0']


def test_each_count_has_its_series() -> None:
    moves, meter = MoveCounts(), GatewayMeter()
    for held in (100, 300):
        moves.done(told(PromotionStage.PROMOTED, held=held))
    moves.done(told(PromotionStage.REVERTED, back=True, held=50))
    moves.done(told(PromotionStage.UNDONE))
    moves.done(told(PromotionStage.REFUSED, back=True))
    moves.done(told(PromotionStage.TOLD))
    moves.trouble(Reason.of(ReasonCode.PROMOTE_STRAY, partition="t-0", records=3))
    moves.trouble(Reason.of(ReasonCode.ERROR, error="CLUSTER", text="away"))
    done = ConnectionCounts(all=9, ended=2, requests=5, answers=4, received=500, sent=400)
    meter.tell(
        GatewayCounts(
            connections=done, moves=moves, clients=7, waiting=1, brokers=8, promoted=3, away=True
        )
    )
    lines = {*scraped(meter)}
    assert {
        "towpath_gateway_connections 7.0",
        "towpath_gateway_connections_total 9.0",
        "towpath_gateway_ended_connections_total 2.0",
        "towpath_gateway_broker_connections 8.0",
        'towpath_gateway_frames_total{direction="request"} 5.0',
        'towpath_gateway_frames_total{direction="answer"} 4.0',
        'towpath_gateway_bytes_total{direction="request"} 500.0',
        'towpath_gateway_bytes_total{direction="answer"} 400.0',
        "towpath_gateway_waiting_connections 1.0",
        "towpath_gateway_promoted_topics 3.0",
        'towpath_gateway_moves_total{outcome="done",way="promote"} 2.0',
        'towpath_gateway_moves_total{outcome="undone",way="promote"} 1.0',
        'towpath_gateway_moves_total{outcome="refused",way="promote"} 0.0',
        'towpath_gateway_moves_total{outcome="done",way="revert"} 1.0',
        'towpath_gateway_moves_total{outcome="refused",way="revert"} 1.0',
        'towpath_gateway_held_seconds_count{way="promote"} 2.0',
        'towpath_gateway_held_seconds_sum{way="promote"} 0.4',
        'towpath_gateway_silent_seconds_sum{way="revert"} 0.5',
        'towpath_gateway_troubles_total{code="PROMOTE_STRAY"} 1.0',
        'towpath_gateway_troubles_total{code="PROMOTE_OPEN"} 0.0',
        'towpath_gateway_troubles_total{code="PROMOTE_CONFIGS"} 0.0',
        'towpath_gateway_troubles_total{code="ERROR"} 1.0',
        "towpath_gateway_source_away 1.0",
    } <= lines
