"""The section `iceberg` of an archive: the catalog in which its files are registered as tables."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from towpath.settings.secrets import SecretText
from towpath.settings.shape import Section

_TABLE = re.compile(r"[^{}]*\{topic\}[^{}]*")
_HIDDEN = re.compile(r"secret|password|token|credential|access-key", re.IGNORECASE)
_LOGIN = re.compile(r"://[^/@\s]*:[^/@\s]*@")


def _no_secrets(properties: dict[str, str]) -> dict[str, str]:
    for name, value in properties.items():
        if _HIDDEN.search(name):
            raise ValueError(f"{name[:60]!r} may be a secret; name it under `secrets` instead")
        if _LOGIN.search(value):
            raise ValueError(f"the value of {name[:60]!r} has a password; put it under `secrets`")
    return properties


def _table(text: str) -> str:
    if not _TABLE.fullmatch(text):
        raise ValueError("must have the placeholder {topic} once, such as kafka_{topic}")
    return text


class IcebergConfig(Section):
    """The catalog of Iceberg tables for `towpath archive register`."""

    catalog: Annotated[str, Field(min_length=1)] = Field(
        "towpath",
        description="Name of the catalog. pyiceberg adds what its own files and variables say of"
        " this name.",
    )
    properties: Annotated[dict[str, str], AfterValidator(_no_secrets)] = Field(
        default_factory=dict,
        description="Properties of the catalog as pyiceberg names them, such as `type`, `uri` and"
        " `warehouse`.",
    )
    secrets: dict[str, SecretText] = Field(
        default_factory=dict,
        description="Secret properties of the catalog, such as `token` or `credential`, or a `uri`"
        " with a password.",
    )
    namespace: Annotated[str, Field(min_length=1)] = Field(
        "kafka", description="Namespace of the tables; dots separate its levels."
    )
    table: Annotated[str, AfterValidator(_table)] = Field(
        "{topic}", description="Name of a table; `{topic}` stands for the name of the topic."
    )
