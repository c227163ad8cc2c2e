"""Metrics of a migration to KRaft: their names are frozen, their values are the last look's."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from towpath.kraft.metrics import names as kraft_names
from towpath.kraft.metrics.measure import KraftCounts, KraftMeter, measured
from towpath.metering.collector import MeasurementCollector

FROZEN = [
    ("towpath_kraft_info", ("version", "migration")),
    ("towpath_kraft_migration_state", ()),
    ("towpath_kraft_kafka_state", ()),
    ("towpath_kraft_stage", ("stage",)),
    ("towpath_kraft_alarm", ("alarm",)),
    ("towpath_kraft_differences", ("kind",)),
    ("towpath_kraft_brokers", ("mode",)),
    ("towpath_kraft_unseen", ()),
    ("towpath_kraft_last_look_timestamp_seconds", ()),
    ("towpath_kraft_step_begun_timestamp_seconds", ()),
]
COUNTS = KraftCounts(
    at=1_700_000_000_500,
    state=3,
    kafka_state=1,
    stages={"hybrid": 1, "final": 0},
    alarms={"flag_missing": 1},
    differences={"acls": 2},
    brokers={"migration": 3},
    unseen=1,
)


def test_names_and_labels_stay() -> None:
    assert [(each.name, each.labels) for each in kraft_names.ALL] == FROZEN


def scraped(meter: KraftMeter) -> list[str]:
    registry = CollectorRegistry()
    registry.register(MeasurementCollector(lambda: measured(meter, "1.0", "orders")))
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_before_the_first_look_only_the_name_is_told() -> None:
    meter = KraftMeter()
    assert not meter.ready
    assert scraped(meter) == ['towpath_kraft_info{migration="orders",version="1.0"} 1.0']


def test_the_state_has_the_number_of_the_specification_with_kafkas_own_beside_it() -> None:
    meter = KraftMeter()
    meter.tell(COUNTS)
    assert meter.ready
    assert meter.idle < 10
    lines = scraped(meter)
    assert "towpath_kraft_migration_state 3.0" in lines
    assert "towpath_kraft_kafka_state 1.0" in lines
    assert 'towpath_kraft_stage{stage="hybrid"} 1.0' in lines
    assert 'towpath_kraft_stage{stage="final"} 0.0' in lines
    assert 'towpath_kraft_alarm{alarm="flag_missing"} 1.0' in lines
    assert 'towpath_kraft_differences{kind="acls"} 2.0' in lines
    assert 'towpath_kraft_brokers{mode="migration"} 3.0' in lines
    assert "towpath_kraft_unseen 1.0" in lines
    assert "towpath_kraft_last_look_timestamp_seconds 1.7000000005e+09" in lines


def test_a_step_is_told_while_it_is_done() -> None:
    meter = KraftMeter()
    name = "towpath_kraft_step_begun_timestamp_seconds"
    assert not [each for each in scraped(meter) if each.startswith(name)]
    meter.step_begun = 1_700_000_000.5
    assert f"{name} 1.7000000005e+09" in scraped(meter)
    meter.step_begun = None
    assert not [each for each in scraped(meter) if each.startswith(name)]
