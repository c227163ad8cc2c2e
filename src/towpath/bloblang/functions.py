"""The functions and methods that are known, with the number of their arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

from towpath.bloblang.go_expressions import python_expression

Value = Any
"""A text, bytes, a number, true, false, null, a list, a mapping, or one of the two marks below."""


class Mark:
    """The result of `deleted()` or `nothing()`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


DELETED, NOTHING = Mark("deleted()"), Mark("nothing()")


class BloblangError(ValueError):
    """An expression that has no value for a message: `throw`, or a value of the wrong kind."""


@dataclass(frozen=True, slots=True)
class KnownFunction:
    """A function or method.

    Attributes:
        made: What it makes of its values.
        least: The fewest arguments.
        most: The most arguments.
    """

    made: Callable[..., Value]
    least: int = 0
    most: int = 0


class FunctionTable:
    """The known functions or methods by name.

    Args:
        what: The word for one of them.
        known: The functions.
        instead: What to write instead of some that Connect does not have either.
    """

    def __init__(self, what: str, known: dict[str, KnownFunction], instead: dict[str, str]) -> None:
        self._what, self._known, self._instead = what, known, instead

    def __getitem__(self, name: str) -> KnownFunction:
        return self._known[name]

    def __iter__(self) -> Any:
        return iter(self._known)

    def require(self, name: str, arguments: int) -> None:
        """Raise if there is no function of this name with so many arguments.

        Raises:
            ValueError: There is none.
        """
        known = self._known.get(name)
        if known is None:
            near = get_close_matches(name, self._known, n=1)
            hint = self._instead.get(name) or (f"did you mean {near[0]}?" if near else "")
            known_ones = hint or f"known are {', '.join(sorted(self._known))}"
            raise ValueError(f"the {self._what} {name} is not known here; {known_ones}")
        if not known.least <= arguments <= known.most:
            wanted = f"{known.least} to {known.most}" if known.least != known.most else known.least
            raise ValueError(f"the {self._what} {name} takes {wanted} arguments, not {arguments}")


def text_of(value: Value) -> str:
    """Return a value that must be a text; bytes are read as UTF-8.

    Raises:
        BloblangError: It is none.
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, str):
        raise BloblangError(f"a text is expected, not {kind_of(value)}")
    return value


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "null"),
    (bool, "true or false"),
    ((int, float), "a number"),
    ((str, bytes), "a text"),
    (list, "a list"),
    (dict, "a mapping"),
)


def kind_of(value: Value) -> str:
    """Return the word for the type of a value."""
    return next((word for kinds, word in _KINDS if isinstance(value, kinds)), repr(value))


def string(value: Value) -> str:
    """Return a value as text, as an interpolation writes it."""
    match value:
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case float() if not math.isfinite(value):
            raise BloblangError("a number that is too large")
        case float():
            return f"{value:.0f}" if value == int(value) else f"{Decimal(repr(value)):f}"
        case int():
            return str(value)
        case _:
            return text_of(value)


def expression(text: str) -> re.Pattern[str]:
    """Return a regular expression of Go's RE2, as far as Python has the same.

    Raises:
        ValueError: Python has nothing that means the same, or it is none.
    """
    return re.compile(python_expression(text))


def _re_replace(value: Value, pattern: Value, by: Value) -> str:
    def put_in(found: re.Match[str]) -> str:
        def group(named: re.Match[str]) -> str:
            name = named[1] or named[2]
            try:
                return found[int(name) if name.isdigit() else name] or ""
            except IndexError:
                return ""

        return re.sub(r"\$(?:\{(\w+)\}|(\w+))", group, text_of(by))

    return expression(text_of(pattern)).sub(put_in, text_of(value))


def _index(value: Value, at: Value) -> Value:
    if not isinstance(at, int) or not isinstance(value, list | str | bytes):
        raise BloblangError(f"index needs a list and a number, not {kind_of(value)}")
    try:
        return value[at]
    except IndexError:
        raise BloblangError(f"index {at} is beyond the end of {len(value)}") from None


def _slice(value: Value, low: Value, high: Value = None) -> Value:
    if not isinstance(value, list | str | bytes):
        raise BloblangError(f"slice needs a text or a list, not {kind_of(value)}")
    if not (_is_whole(low) and (high is None or _is_whole(high))):
        raise BloblangError("slice needs whole numbers")
    if isinstance(value, str):  # bytes, as Go counts
        return _part(value.encode(), low, high).decode("utf-8", "replace")
    return _part(value, low, high)


def _part(value: Value, low: int, high: int | None) -> Value:
    size = len(value)
    begin = max(0, size + low) if low < 0 else low
    end = size if high is None else min(size, max(0, size + high if high < 0 else high))
    if begin > end:
        raise BloblangError(f"slice from {begin} to {end}, which lies before")
    return value[begin:end]


def _is_whole(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _number(value: Value, otherwise: Value = None) -> Value:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    text = text_of(value)
    if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    if otherwise is None:
        raise BloblangError("a text that is no number")
    return otherwise


def _length(value: Value) -> int:
    if not isinstance(value, list | str | bytes | dict):
        raise BloblangError(f"length needs a text or a list, not {kind_of(value)}")
    return len(value.encode()) if isinstance(value, str) else len(value)


def _contains(value: Value, part: Value) -> bool:
    return part in value if isinstance(value, list) else text_of(part) in text_of(value)


def _split(value: Value, by: Value) -> list[str]:
    text, between = text_of(value), text_of(by)
    return text.split(between) if between else list(text)


def _join(value: Value, between: Value = "") -> str:
    if not isinstance(value, list):
        raise BloblangError(f"join needs a list, not {kind_of(value)}")
    return text_of(between).join(map(text_of, value))


_WORD = re.compile(r"(?:\w|[.:'](?![.:']))+")
"""A word, as Go's `cases.Title` finds them: `-` ends one, but neither `_` nor a single dot."""


def _titled(word: re.Match[str]) -> str:
    text = word[0]
    first = next((at for at, each in enumerate(text) if each.lower() != each.upper()), len(text))
    return text[:first] + text[first : first + 1].title() + text[first + 1 :].lower()


def _trim(value: Value, cut: Value = None) -> str:
    return text_of(value).strip() if cut is None else text_of(value).strip(text_of(cut))


def _of_two(made: Callable[[str, str], Value]) -> Callable[[Value, Value], Value]:
    """Return a method that needs two texts."""
    return lambda value, other: made(text_of(value), text_of(other))


def _throw(why: Value) -> Value:
    raise BloblangError(text_of(why))


_EACH_TIME = (
    "it gives another value each time, and a record that is copied again must become the same;"
    " @kafka_timestamp_ms is the time of the record"
)
_CONTENT = "the content of records is not read here"
_INSTEAD = {
    **dict.fromkeys(
        (
            "batch_index", "batch_size", "count", "counter", "ksuid", "nanoid", "now", "random_int",
            "snowflake_id", "timestamp_unix", "timestamp_unix_micro", "timestamp_unix_milli",
            "timestamp_unix_nano", "ulid", "uuid_v4", "uuid_v7",
        ),
        _EACH_TIME,
    ),
    **dict.fromkeys(("content", "json"), _CONTENT),
    **dict.fromkeys(
        ("replace", "replace_all", "re_replace_all", "uppercase", "lowercase", "trim_prefix"),
        'a method stands behind its value, as in @kafka_topic.replace_all("a", "b"); `|` only says'
        " what to take where a value is missing",
    ),
    "hostname": "several processes on several machines copy the records of a link",
    "env": "write ${NAME}, which is replaced when the file is read",
}  # fmt: skip
"""Functions of Connect that nothing can take the place of here, with why."""


def _not_here(*_: Value) -> Value:
    raise AssertionError("is evaluated by itself")


FUNCTIONS = FunctionTable(
    "function",
    {
        "deleted": KnownFunction(lambda: DELETED),
        "nothing": KnownFunction(lambda: NOTHING),
        "throw": KnownFunction(_throw, 1, 1),
        "metadata": KnownFunction(_not_here, 0, 1),
        "meta": KnownFunction(_not_here, 0, 1),
    },
    _INSTEAD,
)
METHODS = FunctionTable(
    "method",
    {
        "or": KnownFunction(_not_here, 1, 1),
        "catch": KnownFunction(_not_here, 1, 1),
        "string": KnownFunction(string),
        "number": KnownFunction(_number, 0, 1),
        "length": KnownFunction(_length),
        "uppercase": KnownFunction(lambda value: text_of(value).upper()),
        "lowercase": KnownFunction(lambda value: text_of(value).lower()),
        "capitalize": KnownFunction(lambda value: _WORD.sub(_titled, text_of(value))),
        "trim": KnownFunction(_trim, 0, 1),
        "trim_prefix": KnownFunction(
            lambda value, cut: text_of(value).removeprefix(text_of(cut)), 1, 1
        ),
        "trim_suffix": KnownFunction(
            lambda value, cut: text_of(value).removesuffix(text_of(cut)), 1, 1
        ),
        "has_prefix": KnownFunction(
            lambda value, part: text_of(value).startswith(text_of(part)), 1, 1
        ),
        "has_suffix": KnownFunction(
            lambda value, part: text_of(value).endswith(text_of(part)), 1, 1
        ),
        "contains": KnownFunction(_contains, 1, 1),
        "replace": KnownFunction(
            lambda value, old, new: text_of(value).replace(text_of(old), text_of(new)), 2, 2
        ),
        "replace_all": KnownFunction(
            lambda value, old, new: text_of(value).replace(text_of(old), text_of(new)), 2, 2
        ),
        "re_replace_all": KnownFunction(_re_replace, 2, 2),
        "re_replace": KnownFunction(_re_replace, 2, 2),
        "re_match": KnownFunction(
            lambda value, pattern: expression(text_of(pattern)).search(text_of(value)) is not None,
            1,
            1,
        ),
        "split": KnownFunction(_split, 1, 1),
        "join": KnownFunction(_join, 0, 1),
        "index": KnownFunction(_index, 1, 1),
        "slice": KnownFunction(_slice, 1, 2),
    },
    {},
)
