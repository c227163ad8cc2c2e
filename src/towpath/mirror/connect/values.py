"""Values of Connect's fields: durations and regular expressions of Go, sizes, lists with commas."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, PlainValidator

from towpath.bloblang.go_expressions import python_expression
from towpath.model.secret import Secret
from towpath.settings.naming import template_of
from towpath.settings.problems import first_word, must_be

_DURATION_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0
}  # fmt: skip
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def _duration(value: object) -> float:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if text == "0":
        return 0.0
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"must be a duration such as 500ms, 10s or 1m{_not(value)}")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _not(value: object) -> str:
    """Return what stands there instead, "" where it is more than a word or a number."""
    if isinstance(value, str):
        return f", not {first_word(value)!r}"
    return f", not {value}" if isinstance(value, int | float) else ""


def _size(value: object) -> int:
    text = str(value).strip() if isinstance(value, str | int) else ""
    match = _SIZE.fullmatch(text)
    unit = match[2].lower().removesuffix("b") if match and not isinstance(value, bool) else "?"
    base = 1024 if unit.endswith("i") else 1000
    unit = unit.removesuffix("i")
    if match is None or unit not in _POWERS:
        raise ValueError(f"must be a size such as 1MB or 512KiB{_not(value)}")
    return int(float(match[1]) * base ** _POWERS[unit])


def whole_name(text: str) -> str:
    """Return a regular expression that matches whole names, from one of Go that matches parts.

    Raises:
        ValueError: Python has nothing that means the same, or it is none.
    """
    return f".*(?:{python_expression(text)}).*"


def _pattern(text: str) -> str:
    whole_name(text)
    return text


def listed(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Return the entries, split at commas."""
    return tuple(part.strip() for entry in entries for part in entry.split(",") if part.strip())


def _interpolated(text: str) -> str:
    template_of(text)
    return text


def _secret(value: object) -> Secret:
    if not isinstance(value, str):
        raise ValueError(must_be("a text", value))  # noqa: TRY004, pydantic reports a ValueError only
    return Secret(value)


def _one_or_several(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


GoDuration = Annotated[float, PlainValidator(_duration, json_schema_input_type=str)]
"""Seconds."""
ByteSize = Annotated[int, PlainValidator(_size, json_schema_input_type=str | int)]
"""Bytes; `1MB` are 10^6, `1MiB` are 2^20."""
Pattern = Annotated[str, AfterValidator(_pattern)]
"""A regular expression that need not match a whole name."""
Listed = Annotated[tuple[str, ...], BeforeValidator(_one_or_several), AfterValidator(listed)]
"""Texts, of which one with commas is several."""
Interpolated = Annotated[str, AfterValidator(_interpolated)]
"""A text with expressions."""
Hidden = Annotated[Secret, PlainValidator(_secret, json_schema_input_type=str)]
"""A secret, which Connect's files hold as text."""
