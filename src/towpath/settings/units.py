"""Durations, sizes and rates with their unit: `5m`, `4MiB`, `50MB`."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Self

from pydantic import ValidatorFunctionWrapHandler, WrapValidator

from towpath.settings.from_text import FromText
from towpath.settings.problems import first_word

_WRITTEN_NUMBER = r"\d{1,12}(?:\.\d{1,6})?"
_WRITTEN = re.compile(rf"({_WRITTEN_NUMBER})\s*([A-Za-z]*)")


def _read(value: object, units: dict[str, float], like: str) -> float:
    text = str(value).strip() if isinstance(value, str | int | float) else ""
    match = _WRITTEN.fullmatch(text)
    if match is None or isinstance(value, bool):
        written = f", not {first_word(value)!r}" if isinstance(value, str) else ""
        raise ValueError(f"must be a number with a unit, such as {like}{written}")
    number, unit = match.groups()
    if not unit:
        raise ValueError(f"{number} has no unit; write one of {', '.join(units)}, such as {like}")
    if unit not in units:
        raise ValueError(f"unit {unit} is not one of {', '.join(units)}; write it such as {like}")
    return float(number) * units[unit]


def _write(number: float, units: dict[str, float]) -> str:
    fitting = [(size, unit) for unit, size in units.items() if number % size == 0 and number]
    size, unit = max(fitting, default=min((size, unit) for unit, size in units.items()))
    return f"{number / size:g}{unit}" if fitting else f"{number / size:.6g}{unit}"


def _json_schema(units: dict[str, float], behind: str = "") -> dict[str, Any]:
    written = rf"{_WRITTEN_NUMBER}\s*({'|'.join(units)}){behind}"
    return {"type": "string", "pattern": rf"^\s*{written}\s*$"}


class Duration(FromText, float):
    """A duration in seconds, written as `500ms`, `5s`, `10m`, `2h` or `1d`."""

    UNITS: ClassVar[dict[str, float]] = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}

    @classmethod
    def parse(cls, value: object) -> Self:
        """Parse a duration such as `5m`.

        Raises:
            ValueError: The number or the unit is missing.
        """
        return value if isinstance(value, cls) else cls(_read(value, cls.UNITS, "500ms, 5s or 10m"))

    def __str__(self) -> str:
        return f"{self * 1000:g}ms" if 0 < self < 1 else _write(float(self), self.UNITS)

    __repr__ = __str__

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of durations."""
        return _json_schema(cls.UNITS)


class Size(FromText, int):
    """A number of bytes, written as `512KiB`, `4MiB` or `1GiB`."""

    UNITS: ClassVar[dict[str, float]] = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    LIKE: ClassVar[str] = "512KiB or 4MiB"

    @classmethod
    def parse(cls, value: object) -> Self:
        """Parse a size such as `4MiB`.

        Raises:
            ValueError: The number or the unit is missing.
        """
        return value if isinstance(value, cls) else cls(_read(value, cls.UNITS, cls.LIKE))

    def __str__(self) -> str:
        return _write(int(self), self.UNITS)

    __repr__ = __str__

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of sizes."""
        return _json_schema(cls.UNITS)


class ByteRate(Size):
    """Bytes per second, written as `500KB`, `50MB` or `50MB/s`."""

    UNITS: ClassVar[dict[str, float]] = {
        **Size.UNITS, "KB": 10**3, "MB": 10**6, "GB": 10**9
    }  # fmt: skip
    LIKE: ClassVar[str] = "500KB or 50MB"
    _EACH: ClassVar[str] = "/s"

    @classmethod
    def parse(cls, value: object) -> Self:
        """Parse a rate such as `50MB`.

        Raises:
            ValueError: The number or the unit is missing.
        """
        written = value.strip().removesuffix(cls._EACH) if isinstance(value, str) else value
        return super().parse(written)

    def __str__(self) -> str:
        return f"{super().__str__()}{self._EACH}"

    __repr__ = __str__

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of rates."""
        return _json_schema(cls.UNITS, f"({cls._EACH})?")


def between(low: str, high: str) -> WrapValidator:
    """Return a validator that checks bounds, which are given as texts."""

    def check(value: object, handler: ValidatorFunctionWrapHandler) -> Any:
        read: Duration | Size = handler(value)
        if not type(read).parse(low) <= read <= type(read).parse(high):
            raise ValueError(f"{str(value).strip()} is not between {low} and {high}")
        return read

    return WrapValidator(check)
