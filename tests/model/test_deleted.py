"""What the configs of a topic let a broker delete, and how that is told. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from towpath.model.deleted import DeletedRecords, Deleter, Retention
from towpath.model.nouns import SourceOffset

GONE = DeletedRecords(
    first=SourceOffset(0), end=SourceOffset(5), records=5, exact=True, why=(Deleter.TIME,)
)


@pytest.mark.parametrize(
    ("configs", "found"),
    [
        (None, Retention(known=False)),
        ({"retention.ms": "5"}, Retention(known=False)),
        ({"cleanup.policy": "", "retention.ms": "5"}, Retention(deletes=False)),
        (
            {"cleanup.policy": "compact", "retention.ms": "5"},
            Retention(deletes=False, requests=False),
        ),
        (
            {"cleanup.policy": "compact,delete", "retention.ms": "5", "retention.bytes": "-1"},
            Retention(ms=5),
        ),
        (
            {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "7"},
            Retention(bytes=7),
        ),
        (
            {"cleanup.policy": "compact,delete", "retention.ms": "5", "log.cleaner.threads": "0"},
            Retention(deletes=False),
        ),
        (
            {"cleanup.policy": "delete", "retention.ms": "5", "log.cleaner.enable": "false"},
            Retention(ms=5),
        ),
    ],
)
def test_what_configs_let_a_broker_delete(configs: dict[str, str] | None, found: Retention) -> None:
    assert Retention.of(configs) == found


@pytest.mark.parametrize(
    ("retention", "old", "by"),
    [
        (Retention(ms=5), True, (Deleter.TIME,)),
        (Retention(ms=5), False, (Deleter.REQUEST,)),
        (Retention(ms=5, bytes=7), True, (Deleter.TIME, Deleter.SIZE)),
        (Retention(ms=5, bytes=7), False, (Deleter.SIZE,)),
        (Retention(), True, (Deleter.REQUEST,)),
        (Retention(deletes=False), True, (Deleter.REQUEST,)),
        (Retention(deletes=False, requests=False), True, (Deleter.UNKNOWN,)),
        (Retention(known=False), True, (Deleter.UNKNOWN,)),
        (Retention(ms=5), None, (Deleter.UNKNOWN,)),
        (Retention(ms=5, bytes=7), None, (Deleter.SIZE, Deleter.UNKNOWN)),
        (Retention(bytes=7), None, (Deleter.SIZE,)),
    ],
)
def test_by_what_records_were_deleted(
    retention: Retention, old: bool | None, by: tuple[Deleter, ...]
) -> None:
    assert retention.by(old=old) == by


LIKE = Retention(ms=5, bytes=7, segment_ms=3, segment_bytes=4, codec="producer")


@pytest.mark.parametrize(
    ("target", "why", "alike"),
    [
        (LIKE, (Deleter.TIME, Deleter.SIZE), True),
        (replace(LIKE, ms=6), (Deleter.TIME,), True),
        (replace(LIKE, ms=4), (Deleter.TIME,), False),
        (replace(LIKE, ms=4), (Deleter.SIZE,), True),
        (replace(LIKE, bytes=6), (Deleter.SIZE,), False),
        (replace(LIKE, codec="zstd"), (Deleter.SIZE,), False),
        (replace(LIKE, segment_ms=2), (Deleter.TIME,), False),
        (replace(LIKE, segment_bytes=3), (Deleter.TIME,), False),
        (LIKE, (Deleter.REQUEST,), False),
        (LIKE, (Deleter.UNKNOWN,), False),
        (replace(LIKE, known=False), (Deleter.TIME,), False),
    ],
)
def test_whether_the_source_deletes_the_same_as_soon(
    target: Retention, why: tuple[Deleter, ...], alike: bool
) -> None:
    assert target.keeps_like(LIKE, why) == alike
    assert not target.keeps_like(Retention(), why)


def test_only_records_that_are_neither_due_nor_meant_to_go_need_somebody() -> None:
    assert GONE.unwanted
    assert replace(GONE, due=4).unwanted
    assert not replace(GONE, due=5).unwanted
    assert not replace(GONE, meant=True).unwanted


def test_how_it_is_told() -> None:
    at_most = replace(GONE, exact=False, foretold=True, meant=True, why=(Deleter.UNKNOWN,))
    assert str(GONE) == (
        "the target deleted 5 records that the source still has (by retention.ms): source offsets 0"
        " to 4"
    )
    assert str(at_most) == (
        "the target deleted at most 5 records that the source still has (it is not known by what):"
        " source offsets 0 to 4; it was foretold; that is meant"
    )
