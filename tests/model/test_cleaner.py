"""For which topics brokers run the log cleaner. Pure."""

from __future__ import annotations

import pytest

from towpath.model.cleaner import is_cleaned, left_alone, never_dirty, stops_in_all, stops_in_any

RUNS = {"log.cleaner.enable": "true", "log.cleaner.threads": "1"}
OFF = {"log.cleaner.enable": "false"}
IDLE = {"log.cleaner.threads": "0"}
POLICY, RATIO, MOST = "cleanup.policy", "min.cleanable.dirty.ratio", "max.compaction.lag.ms"


@pytest.mark.parametrize(
    ("brokers", "in_any", "in_all"),
    [
        ((), {}, {}),
        ((RUNS,), {}, {}),
        (({},), {}, {}),  # a broker that does not know the configs runs the cleaner
        ((RUNS | OFF,), OFF, OFF),
        ((IDLE | RUNS, RUNS | IDLE), IDLE, {}),
        ((RUNS | IDLE, OFF), IDLE, IDLE),
        ((OFF | IDLE,), OFF | IDLE, OFF | IDLE),
    ],
)
def test_a_cluster_is_judged_by_each_of_its_brokers(
    brokers: tuple[dict[str, str], ...], in_any: dict[str, str], in_all: dict[str, str]
) -> None:
    assert (stops_in_any(brokers), stops_in_all(brokers)) == (in_any, in_all)


@pytest.mark.parametrize(
    ("configs", "by", "cleaned"),
    [
        ({POLICY: "compact"}, "", True),
        ({POLICY: "compact,delete", **RUNS}, "", True),
        ({POLICY: "compact", **OFF}, "log.cleaner.enable=false", False),
        ({POLICY: "compact,delete", **IDLE}, "log.cleaner.threads=0", False),
        ({POLICY: "delete", **OFF}, "", False),
        ({**OFF}, "", False),
        ({POLICY: "compact", RATIO: "1.0"}, "", False),
        ({POLICY: "compact", RATIO: "1", MOST: "9223372036854775807"}, "", False),
        ({POLICY: "compact", RATIO: "1", MOST: "86400000"}, "", True),
        ({POLICY: "compact", RATIO: "0.99"}, "", True),
        ({POLICY: "compact", RATIO: "odd"}, "", True),
    ],
)
def test_a_topic_is_cleaned_where_a_cleaner_runs_and_finds_enough(
    configs: dict[str, str], by: str, cleaned: bool
) -> None:
    assert (left_alone(configs), is_cleaned(configs)) == (by, cleaned)


def test_how_dirty_a_topic_must_be_says_nothing_of_its_retention() -> None:
    assert never_dirty({POLICY: "compact,delete", RATIO: "1"})
    assert not left_alone({POLICY: "compact,delete", RATIO: "1"})
