"""The section `access`: the ACLs, users and quotas that the target gets."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, StrictBool

from towpath.settings.secrets import SecretText
from towpath.settings.shape import Section


class AclMode(StrEnum):
    """The modes of copying ACLs to the target."""

    OFF = "off"
    SAFE = "safe"
    FULL = "full"


def _named(users: dict[str, SecretText]) -> dict[str, SecretText]:
    if "" in users:
        raise ValueError("a user needs a name before the colon")
    return users


class AccessConfig(Section):
    """The access rules to copy to the target; Towpath reads only the kinds listed here."""

    acls: AclMode = Field(
        AclMode.OFF,
        description="ACLs of the source on the target: `off`; `safe` for the time before the"
        " cutover, when nobody but the link may change mirror topics; `full` for the time behind"
        " it.",
    )
    users: Annotated[dict[str, SecretText], AfterValidator(_named)] = Field(
        default_factory=dict,
        description="SCRAM users of the source to make on the target, each name with the secret"
        " that is its password: no cluster tells those. Without it: none.",
    )
    quotas: StrictBool = Field(
        False, description="Whether the target gets the client quotas of the source."
    )
