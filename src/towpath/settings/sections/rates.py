"""Limits on the copying rate of a link, as a whole and by topic."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from towpath.settings.naming import Expression, fits
from towpath.settings.shape import Section
from towpath.settings.units import ByteRate

_LOWEST, _HIGHEST = ByteRate.parse("1KB"), ByteRate.parse("100GB")


def max_rate(value: object) -> ByteRate:
    """Parse a rate limit such as `50MB`.

    Raises:
        ValueError: The number or the unit is missing, or the rate is out of bounds.
    """
    read = ByteRate.parse(value)
    if not _LOWEST <= read <= _HIGHEST:
        raise ValueError(f"{str(value).strip()} is not between {_LOWEST} and {_HIGHEST}")
    return read


MaxRate = Annotated[ByteRate, BeforeValidator(max_rate)]


class RateConfig(Section):
    """Limits on the copying rate of a link, in bytes per second."""

    link: MaxRate | None = Field(
        None, description="The most bytes per second of the link as a whole, over all slices."
    )
    topics: dict[Expression, MaxRate] = Field(
        default_factory=dict,
        description="Regular expressions, each with a rate. A source topic whose whole name matches"
        " one is copied with at most that many bytes per second; each topic has a limit of its own,"
        " and the first expression that matches counts.",
    )

    def of(self, topic: str) -> ByteRate | None:
        """Return the rate limit of a source topic, `None` if it has no limit."""
        return next((rate for each, rate in self.topics.items() if fits(topic, (each,))), None)


def _of_link(value: object) -> object:
    """Return the mapping that a rate alone stands for."""
    if isinstance(value, str | int | float):
        return {"link": max_rate(value)}
    return value


MaxRates = Annotated[
    RateConfig, BeforeValidator(_of_link, json_schema_input_type=ByteRate | RateConfig)
]
