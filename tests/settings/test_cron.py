"""When a schedule comes next."""

from __future__ import annotations

import pickle
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towpath.settings.cron import Cron

BERLIN = ZoneInfo("Europe/Berlin")


def times(text: str, since: datetime, count: int) -> list[str]:
    found = []
    for _ in range(count):
        moment = Cron.parse(text).after(since)
        assert moment is not None
        found.append(moment.strftime("%Y-%m-%d %H:%M:%S"))
        since = moment
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 1 * * *", ["2026-02-28 01:00:00", "2026-03-01 01:00:00"]),
        ("0 1 * * *", ["2026-02-28 01:00:00", "2026-03-01 01:00:00"]),
        ("@hourly", ["2026-02-28 00:00:00", "2026-02-28 01:00:00"]),
        ("@daily", ["2026-02-28 00:00:00", "2026-03-01 00:00:00"]),
        ("@weekly", ["2026-03-01 00:00:00", "2026-03-08 00:00:00"]),
        ("@monthly", ["2026-03-01 00:00:00", "2026-04-01 00:00:00"]),
        ("@yearly", ["2027-01-01 00:00:00", "2028-01-01 00:00:00"]),
        ("*/20 59 23 * * *", ["2026-02-27 23:59:40", "2026-02-28 23:59:00"]),
        ("0 30 8-10/2 * * Mon-Fri", ["2026-03-02 08:30:00", "2026-03-02 10:30:00"]),
        ("0 0 0 29 2 ?", ["2028-02-29 00:00:00", "2032-02-29 00:00:00"]),
        ("0 0 0 13 * 5", ["2026-03-06 00:00:00", "2026-03-13 00:00:00"]),
        ("0 0 0 1 jan,jul *", ["2026-07-01 00:00:00", "2027-01-01 00:00:00"]),
        ("0 0 0 * * 7", ["2026-03-01 00:00:00", "2026-03-08 00:00:00"]),
        ("0 0 0 * * 6-7", ["2026-02-28 00:00:00", "2026-03-01 00:00:00"]),
    ],
)
def test_a_schedule_gives_the_next_points_in_time(text: str, expected: list[str]) -> None:
    assert times(text, datetime(2026, 2, 27, 23, 59, 20, 5, tzinfo=UTC), 2) == expected


def test_summer_time_leaves_a_point_out_and_never_doubles_one() -> None:
    nightly = "0 30 2 * * *"
    spring = datetime(2026, 3, 28, 3, tzinfo=BERLIN)
    assert times(nightly, spring, 1) == ["2026-03-30 02:30:00"]
    autumn = datetime(2026, 10, 24, 3, tzinfo=BERLIN)
    assert times(nightly, autumn, 2) == ["2026-10-25 02:30:00", "2026-10-26 02:30:00"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be a schedule, such as"),
        ("* * * *", "must be a schedule, such as"),
        ("@never", "must be a schedule, such as"),
        ("0 60 1 * * *", "minute '60' is not between 0 and 59"),
        ("0 0 5-1 * * *", "hour '5-1' is not between 0 and 23"),
        ("0 */0 1 * * *", "minute '*' is not between 0 and 59"),
        ("0 0 1 * foo *", "'foo' is no month of a schedule"),
        ("0 0 1 ! * *", "'!' is no day of a schedule"),
        ("0 0 0 30 2 ?", "'0*' never comes: no month has such a day"),
    ],
)
def test_what_is_no_schedule(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Cron.parse(text)


fields = st.sampled_from(["*", "0", "3", "1,5", "2-6", "*/2", "1-6/3"])


@settings(max_examples=50)
@given(
    st.lists(fields, min_size=3, max_size=3),
    st.integers(0, 300_000_000),
)
def test_each_point_is_the_first_that_fits(words: list[str], since: int) -> None:
    schedule = Cron.parse(f"0 {words[0]} {words[1]} * * {words[2]}")
    moment = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=since)
    found = [moment]
    for _ in range(3):
        later = schedule.after(found[-1])
        assert later is not None
        found.append(later)
    assert all(first < second for first, second in pairwise(found))
    again = schedule.after(found[1] - timedelta(seconds=1))
    assert again == found[1]
    assert schedule.after(moment) == found[1]


def test_it_pickles_as_its_text() -> None:
    schedule = Cron.parse("@Daily")
    again = pickle.loads(pickle.dumps(schedule))  # noqa: S301, our own bytes
    assert (again, str(again)) == (schedule, "@daily")
    assert again.after(datetime(2026, 1, 1, tzinfo=UTC)) == datetime(2026, 1, 2, tzinfo=UTC)
