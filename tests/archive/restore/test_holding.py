"""Which configs are held back while a topic is restored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.subjects.topic_models import DEFAULTS, KNOWN, observed
from towpath.archive.restore.holding import configs_to_withhold

BEFORE, AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
FOR_EVER = str((1 << 63) - 1)
SEEN = replace(observed(), known=frozenset({*KNOWN, BEFORE}))


def test_a_topic_is_filled_without_limits() -> None:
    back = configs_to_withhold({}, DEFAULTS, SEEN)
    assert back.meanwhile == {
        "retention.ms": "-1",
        BEFORE: FOR_EVER,
        AFTER: FOR_EVER,
        "max.message.bytes": "16777216",
    }
    assert set(back.final.values()) == {None}, "it gets the target's defaults back"


def test_policy_times_and_retention_come_last() -> None:
    final = {
        "cleanup.policy": "compact,delete",
        "message.timestamp.type": "LogAppendTime",
        "retention.bytes": "1000",
        "retention.ms": "-1",
        BEFORE: FOR_EVER,
        AFTER: FOR_EVER,
        "max.message.bytes": "9000000",
    }
    back = configs_to_withhold(final, DEFAULTS, SEEN)
    assert back.meanwhile == {
        "cleanup.policy": "delete",
        "message.timestamp.type": "CreateTime",
        "retention.bytes": "-1",
        "max.message.bytes": "36000000",
    }
    assert back.final == {key: final[key] for key in back.meanwhile}


@pytest.mark.parametrize(
    ("own", "request_bytes", "wanted"),
    [
        ("1000", 10_000_000, "8951424"),
        ("9500000", 10_000_000, None),
        ("99000000", None, "396000000"),
    ],
)
def test_batches_may_be_as_large_as_brokers_take_requests(
    own: str, request_bytes: int | None, wanted: str | None
) -> None:
    seen = replace(SEEN, request_bytes=request_bytes)
    back = configs_to_withhold({"max.message.bytes": own}, DEFAULTS, seen)
    assert back.meanwhile.get("max.message.bytes") == wanted


def test_what_the_target_does_not_know_is_not_held_back() -> None:
    seen = replace(SEEN, known=frozenset({"retention.ms"}))
    assert configs_to_withhold({"cleanup.policy": "compact"}, DEFAULTS, seen).meanwhile == {
        "retention.ms": "-1"
    }


@pytest.mark.parametrize(
    ("archived", "request_bytes", "wanted"),
    [
        ("30000000", None, "120000000"),
        ("30000000", 99_000_000, "97951424"),
        ("900", None, "16777216"),
    ],
)
def test_a_topic_that_takes_less_than_the_archived_one_takes_its_records_meanwhile(
    archived: str, request_bytes: int | None, wanted: str
) -> None:
    """Before, a record of 20 MB stopped its partition where the target had a topic of that name."""
    seen = replace(SEEN, request_bytes=request_bytes)
    own = {"max.message.bytes": "2000000"}
    back = configs_to_withhold(own, DEFAULTS, seen, {"max.message.bytes": archived})
    assert back.meanwhile["max.message.bytes"] == wanted
    assert back.final["max.message.bytes"] == "2000000"
