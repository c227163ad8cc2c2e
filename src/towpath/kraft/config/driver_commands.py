"""The commands of a migration to KRaft, in all sections `driver`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from towpath.settings.problems import not_empty
from towpath.settings.sections.clusters import arguments
from towpath.settings.shape import Section

CommandLine = Annotated[
    tuple[str, ...],
    BeforeValidator(arguments, json_schema_input_type=str | tuple[str, ...]),
    AfterValidator(not_empty),
]
"""A program and its arguments. `{id}`, `{role}`, `{properties}` and `{cluster_id}` are replaced."""


class DriverSection(Section):
    """Fields that all kinds of `driver` sections share."""

    format: CommandLine = Field(
        description="Command that formats a controller's folder, such as"
        " `kafka-storage.sh format --cluster-id={cluster_id} -c {properties}`; {release} is"
        " replaced, too."
    )
