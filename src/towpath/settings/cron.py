"""Recurring times, written as in cron: `0 0 1 * * *`.

Six fields, the first of them seconds, as cron libraries of Go and Java have it; with five there are
no seconds, as in Unix. A field is `*`, a number, a range `1-5`, a step `*/10`, or several of these
with commas; months and weekdays may be named, and Sunday is 0 or 7. Where both days are limited, a
day counts that fits one of them, as in Unix.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Self

from towpath.settings.from_text import FromText
from towpath.settings.problems import first_word

_SHORT = {
    "@yearly": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 0",
    "@daily": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}
_NAMES: Mapping[str, Mapping[str, int]] = {
    "month": {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name},
    "weekday": {
        name: number
        for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])
    },
}
_FIELDS = {
    "second": (0, 59),
    "minute": (0, 59),
    "hour": (0, 23),
    "day": (1, 31),
    "month": (1, 12),
    "weekday": (0, 7),
}
_PART = re.compile(r"(\*|\?|(\w+)(?:-(\w+))?)(?:/(\d{1,3}))?")
_LIKE = "such as `0 0 1 * * *` (second, minute, hour, day, month, weekday) or `@daily`"
_YEARS = 30
"""February 29 on a weekday comes within 28 years, or 40 around 2100."""


class Cron(FromText, str):
    """A schedule; `after` returns its next time."""

    __slots__ = ("_fields",)
    _fields: dict[str, frozenset[int]]

    @classmethod
    def parse(cls, value: object) -> Self:
        """Parse the text of a schedule.

        Raises:
            ValueError: The text is none.
        """
        if isinstance(value, cls):
            return value
        text = " ".join(value.lower().split()) if isinstance(value, str) else ""
        words = _SHORT.get(text, text).split()
        words = words if len(words) == len(_FIELDS) else ["0", *words]
        if len(words) != len(_FIELDS):
            raise ValueError(f"must be a schedule, {_LIKE}")
        schedule = cls(text)
        schedule._fields = {
            name: _numbers(name, word) for name, word in zip(_FIELDS, words, strict=True)
        }
        if schedule.after(datetime(2000, 1, 1, tzinfo=UTC)) is None:
            raise ValueError(f"{first_word(text)!r} never comes: no month has such a day")
        return schedule

    def after(self, moment: datetime) -> datetime | None:
        """Return the first scheduled time after a moment, `None` if there is none.

        Points in time that a change of clocks leaves out are left out here, too, and of those that
        come twice the first one counts.

        Args:
            moment: With the time zone of the schedule.
        """
        zone = moment.tzinfo or UTC
        clock = moment.replace(tzinfo=None)
        for each in self._clock_times(clock.replace(microsecond=0)):
            found = each.replace(tzinfo=zone)
            if _exists(found, zone) and found.astimezone(UTC) > moment.astimezone(UTC):
                return found
        return None

    def _clock_times(self, since: datetime) -> Iterator[datetime]:
        """Yield the points from a time of the clock on, without time zone."""
        day = since.replace(hour=0, minute=0, second=0)
        end = day.replace(year=day.year + _YEARS, day=min(day.day, 28))
        while day < end:
            if day.month not in self._fields["month"]:
                day = (day.replace(day=28) + timedelta(days=4)).replace(day=1)
                continue
            if self._has_day(day):
                yield from (each for each in self._times_of(day) if each >= since)
            day += timedelta(days=1)

    def _times_of(self, day: datetime) -> Iterator[datetime]:
        for hour in sorted(self._fields["hour"]):
            for minute in sorted(self._fields["minute"]):
                for second in sorted(self._fields["second"]):
                    yield day.replace(hour=hour, minute=minute, second=second)

    def _has_day(self, day: datetime) -> bool:
        days, weekdays = self._fields["day"], self._fields["weekday"]
        by_day = day.day in days
        by_weekday = day.isoweekday() % 7 in weekdays
        if len(days) == 31 or len(weekdays) == 7:
            return by_day and by_weekday
        return by_day or by_weekday

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).parse, (str(self),))


def _exists(found: datetime, zone: tzinfo) -> bool:
    """Whether clocks show a time; they leave out an hour when summer time begins."""
    there = found.astimezone(UTC).astimezone(zone)
    return there.replace(tzinfo=None) == found.replace(tzinfo=None)


def _numbers(field: str, word: str) -> frozenset[int]:
    found = {number for part in word.split(",") for number in _of_part(field, part)}
    return frozenset(number % 7 for number in found) if field == "weekday" else frozenset(found)


def _of_part(field: str, part: str) -> range:
    low, high = _FIELDS[field]
    match = _PART.fullmatch(part)
    if match is None:
        raise ValueError(f"{first_word(part)!r} is no {field} of a schedule, {_LIKE}")
    whole, first, last, step = match.groups()
    if first is None:
        begin, end = low, high if field != "weekday" else 6
    else:
        begin = _number(field, first)
        end = _number(field, last) if last else high if step else begin
    if not low <= begin <= end <= high or step == "0":
        raise ValueError(f"{field} {first_word(whole)!r} is not between {low} and {high}")
    return range(begin, end + 1, int(step or 1))


def _number(field: str, word: str) -> int:
    named = _NAMES.get(field, {}).get(word[:3])
    if named is not None:
        return named
    if not word.isascii() or not word.isdigit():
        raise ValueError(f"{first_word(word)!r} is no {field} of a schedule, {_LIKE}")
    return int(word)
