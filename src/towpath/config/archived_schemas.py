"""The section `schemas` of the file of an archive."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, Strict

from towpath.config.naming import Expression
from towpath.config.problems import not_empty
from towpath.config.registries import RegistryConfig
from towpath.config.schemas import selected
from towpath.config.shape import Section
from towpath.config.topics import Count
from towpath.config.units import Duration, between


class ArchivedSchemas(Section):
    """The subjects of a schema registry that are archived with the records."""

    source: RegistryConfig = Field(description="The schema registry whose subjects are archived.")
    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        (".*",),
        description="Regular expressions; a subject whose whole name matches one is archived, with"
        " all schemas that it refers to. The name is that in its context, or that with its context,"
        " such as `:.eu:orders`.",
    )
    exclude: tuple[Expression, ...] = Field(
        (),
        description="Regular expressions; a subject whose whole name matches one is left out,"
        " unless another schema refers to it.",
    )
    interval: Annotated[Duration, between("1s", "1d")] = Field(
        Duration.parse("1m"),
        description="How often a run looks at the registry. A schema is archived so much later than"
        " it was registered.",
    )
    max_requests: Annotated[Count, Strict(), Field(ge=1, le=100)] = Field(
        Count(8), description="The most requests that the registry gets at the same time."
    )

    def selects(self, subject: str) -> bool:
        """Return whether a subject is archived for its own sake."""
        return selected(subject, self.include, self.exclude)
