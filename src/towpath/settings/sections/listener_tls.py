"""Encryption of a listener of ours, and the certificates that it asks for."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from towpath.settings.secrets import Pem, SecretText
from towpath.settings.sections.clusters import check_authorities, check_pair
from towpath.settings.shape import Section


class ListenerTls(Section):
    """Encryption of a listener of ours; its files are read again when they change."""

    cert: Pem = Field(
        description="PEM file of the listener's certificate, with those between it and its"
        " authority. It must name the hosts that clients are told."
    )
    key: Pem | None = Field(
        None, description="PEM file of the private key. Default: the key is in the file `cert`."
    )
    key_password: SecretText | None = Field(None, description="Secret that opens the private key.")
    ca: Pem | None = Field(
        None,
        description="PEM file of the authorities of clients; with it each client must show a"
        " certificate of theirs (mutual TLS). Default: clients show none.",
    )

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if self.ca:
            check_authorities(self.ca)
        check_pair(self.cert, self.key, self.key_password)
        return self
