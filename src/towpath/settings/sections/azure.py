"""The login to Azure Blob Storage, and the parsing of Azure's connection strings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import Field

from towpath.model.secret import Secret
from towpath.settings.secrets import SecretText
from towpath.settings.shape import Placed, Section, contradictions


class AzureLogin(Section):
    """The section with the login to Azure Blob Storage."""

    account_key: SecretText | None = Field(None, description="Secret: a key of the account.")
    sas: SecretText | None = Field(
        None, description="Secret: a shared access signature, the part of a URL behind the ?."
    )
    connection_string: SecretText | None = Field(
        None, description="Secret: a connection string, with a key or a shared access signature."
    )
    client_id: str | None = Field(
        None,
        min_length=1,
        description="The client id of a managed identity or workload identity, where a machine has"
        " several.",
    )

    @contradictions
    def _one_login(self) -> Iterator[Placed]:
        names = ("account_key", "sas", "connection_string", "client_id")
        given = [name for name in names if getattr(self, name, None) is not None]
        if len(given) > 1:
            yield Placed((given[-1],), f"give only one of {' and '.join(given)}")


@dataclass(frozen=True, slots=True)
class ConnectionText:
    """The content of an Azure connection string.

    Attributes:
        endpoint: The URL of the account's blobs; "" where it does not say.
        account_key: The key of the account.
        sas: The shared access signature.
    """

    endpoint: str = ""
    account_key: Secret | None = None
    sas: Secret | None = None

    @classmethod
    def of(cls, text: Secret | None) -> ConnectionText:
        """Parse a connection string; without one, all fields are empty."""
        if text is None:
            return cls()
        pairs = (each.partition("=") for each in text.reveal().split(";"))
        said = {name.strip().lower(): value.strip() for name, _, value in pairs}
        key, sas = said.get("accountkey"), said.get("sharedaccesssignature")
        return cls(
            said.get("blobendpoint", "").rstrip("/"),
            Secret(key) if key else None,
            Secret(sas) if sas else None,
        )
