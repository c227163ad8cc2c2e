"""The section `retention` of an archive: how much of it `archive prune` leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from towpath.settings.naming import Expression, fits
from towpath.settings.problems import not_empty
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.units import Duration, Size, between


class RetentionConfig(Section):
    """The retention rule of some archived topics; for each topic the first matching rule counts."""

    topics: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        (".*",), description="Regular expressions; the rule is for topics whose whole name matches."
    )
    max_age: Annotated[Duration, between("1s", "36500d")] | None = Field(
        None,
        description="First segments whose newest record is older may go; the time is that of the"
        " record, or where it has none that of the segment.",
    )
    max_size: Annotated[Size, between("1B", "1048576GiB")] | None = Field(
        None,
        description="Bytes of objects that each partition keeps at least: first segments may go if"
        " those behind them have as many.",
    )

    @contradictions
    def _says_something(self) -> Iterator[Placed]:
        if self.max_age is None and self.max_size is None:
            yield Placed((), "needs max_age or max_size; leave it out to keep everything")

    def concerns(self, topic: str) -> bool:
        """Return whether the rule is for a topic."""
        return fits(topic, self.topics)
