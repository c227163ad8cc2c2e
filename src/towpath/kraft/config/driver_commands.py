"""The commands of a migration to KRaft, in all sections `driver`."""

from __future__ import annotations

import shlex
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from towpath.config.problems import not_empty
from towpath.config.shape import Section
from towpath.model.foreign import foreign


def _command(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return shlex.split(value)
    except ValueError as error:
        raise ValueError(f"cannot be split into arguments: {foreign(error)}") from None


CommandLine = Annotated[
    tuple[str, ...],
    BeforeValidator(_command, json_schema_input_type=str | tuple[str, ...]),
    AfterValidator(not_empty),
]
"""A program and its arguments. `{id}`, `{role}`, `{properties}` and `{cluster_id}` are replaced."""


class DriverSection(Section):
    """Fields that the sections of all kinds of drivers share."""

    format: CommandLine = Field(
        description="Command that formats a controller's folder, such as"
        " `kafka-storage.sh format --cluster-id={cluster_id} -c {properties}`; {release} is"
        " replaced, too."
    )
