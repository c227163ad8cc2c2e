"""Encryption of a listener of ours, and the certificates that it asks for."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from towpath.settings.secrets import Pem, SecretText
from towpath.settings.sections.clusters import wrong_authorities, wrong_pair
from towpath.settings.shape import Placed, Section, contradictions


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

    @contradictions
    def _authorities(self) -> Iterator[Placed]:
        yield from wrong_authorities(self.ca)

    @contradictions
    def _pair(self) -> Iterator[Placed]:
        yield from wrong_pair(self.cert, self.key, self.key_password)
