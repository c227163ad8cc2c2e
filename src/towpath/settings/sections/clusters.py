"""A cluster of the link: its brokers and the login."""

from __future__ import annotations

import shlex
import ssl
from collections.abc import Iterator
from enum import StrEnum
from tempfile import NamedTemporaryFile
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
)

from towpath.model.foreign import foreign
from towpath.model.secret import Secret
from towpath.model.target_kinds import TargetKind
from towpath.settings.address import check_address, host_and_port
from towpath.settings.problems import must_be, not_empty
from towpath.settings.secrets import Pem, PemFile, SecretText, certificates
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.units import Duration, between


class Tls(Section):
    """Encryption and certificates; Spark tasks receive the PEM texts with the config."""

    ca: Pem | None = Field(
        None,
        description="PEM file of the authorities to trust. Default: those of the system.",
    )
    cert: Pem | None = Field(None, description="PEM file of our certificate, for mutual TLS.")
    key: Pem | None = Field(
        None, description="PEM file of the private key. Default: the key is in the file `cert`."
    )
    key_password: SecretText | None = Field(None, description="Secret that opens the private key.")
    verify_hostname: StrictBool = Field(
        True, description="Whether a broker's certificate must name the host that we connect to."
    )

    @contradictions
    def _authorities(self) -> Iterator[Placed]:
        yield from wrong_authorities(self.ca)

    @contradictions
    def _pair(self) -> Iterator[Placed]:
        if self.cert:
            yield from wrong_pair(self.cert, self.key, self.key_password)
        elif self.key or self.key_password:
            yield Placed(("cert",), "is required where a key is given")


def wrong_authorities(ca: PemFile | None) -> Iterator[Placed]:
    """Yield that the file `ca` of a section holds no usable certificates of authorities."""
    if ca is None:
        return
    try:
        ssl.create_default_context(cadata=certificates(ca.text.reveal()))
    except (ssl.SSLError, ValueError):
        yield Placed(("ca",), f"{ca.path}: holds no usable certificate")


def wrong_pair(cert: PemFile, key: PemFile | None, key_password: Secret | None) -> Iterator[Placed]:
    """Yield that the files `cert` and `key` of a section cannot be used together."""
    password = key_password.reveal() if key_password else ""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        # OpenSSL takes both from a file only. Without a password it would ask on the terminal.
        with NamedTemporaryFile("w", suffix=".pem", encoding="utf-8") as file:
            text = key.text.reveal() if key else ""
            file.write(f"{text}\n{cert.text.reveal()}")
            file.flush()
            context.load_cert_chain(file.name, password=password)
    except (ssl.SSLError, ValueError, OSError) as error:
        mismatch = getattr(error, "reason", "") == "KEY_VALUES_MISMATCH"
        why = (
            "certificate and key do not belong together"
            if mismatch
            else "no usable certificate with its key, or `key_password` does not open the key"
        )
        yield Placed(("cert",), f"{cert.path}: {why}")


class PasswordSasl(Section):
    """Login with a name and a password."""

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        description="How to log in."
    )
    username: str = Field(min_length=1, description="Name to log in with.")
    password: SecretText = Field(description="Secret to log in with.")


def arguments(value: object) -> object:
    """Split a command that is written as one string, like a shell."""
    if not isinstance(value, str):
        return value
    try:
        return shlex.split(value)
    except ValueError as error:
        raise ValueError(f"cannot be split into arguments: {foreign(error)}") from None


def tls_or_true(value: object) -> object:
    """Convert `tls: true` to an empty mapping, which means the defaults."""
    if value is True:
        return {}
    if isinstance(value, dict | Tls) or value is None:
        return value
    raise ValueError(must_be("true, or a mapping of ca, cert, key, ...", value))


class OauthSasl(Section):
    """Login with a bearer token: a fixed token, or the output of a command."""

    mechanism: Literal["OAUTHBEARER"] = Field(description="How to log in.")
    token: SecretText | None = Field(None, description="Secret: the token itself.")
    token_command: (
        Annotated[
            tuple[str, ...],
            BeforeValidator(arguments, json_schema_input_type=str | tuple[str, ...]),
            AfterValidator(not_empty),
        ]
        | None
    ) = Field(
        None,
        description="Command that prints a new token; it runs on each machine that logs in.",
        repr=False,
    )
    extensions: dict[str, str] = Field(
        default_factory=dict, description="SASL extensions sent with the token.", repr=False
    )

    @contradictions
    def _one_token(self) -> Iterator[Placed]:
        if (self.token is None) == (self.token_command is None):
            yield Placed(("token",), "give exactly one of token and token_command")


class MskSasl(Section):
    """Login to Amazon MSK with the credentials that botocore finds."""

    mechanism: Literal["AWS_MSK_IAM"] = Field(description="How to log in.")
    region: str | None = Field(
        None, description="AWS region of the cluster. Default: the region that botocore finds."
    )


class GssapiSasl(Section):
    """Login through Kerberos, with the ticket of the process."""

    mechanism: Literal["GSSAPI"] = Field(description="How to log in.")
    service_name: str = Field("kafka", description="Kerberos name of the brokers' service.")
    domain_name: str | None = Field(
        None, description="Host in the service's Kerberos name. Default: the broker's host."
    )


Sasl = Annotated[PasswordSasl | OauthSasl | MskSasl | GssapiSasl, Field(discriminator="mechanism")]


def _listed(value: object) -> object:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def _address(value: str) -> str:
    if "://" in value:
        raise ValueError("is a URL; write HOST:PORT alone, and security as tls and sasl")
    return check_address(value, "broker1:9092")


def _tls(value: object) -> object:
    """Read `tls: true` as encryption with all defaults, `tls: false` as no encryption."""
    if isinstance(value, bool):
        return {} if value else None
    if isinstance(value, dict | Tls) or value is None:
        return value
    raise ValueError(must_be("true, false, or a mapping of ca, cert, key, ...", value))


class ClusterConfig(Section):
    """The brokers of a cluster, and how to log in."""

    bootstrap: Annotated[
        tuple[Annotated[str, AfterValidator(_address)], ...],
        BeforeValidator(_listed, json_schema_input_type=str | tuple[str, ...]),
        AfterValidator(not_empty),
    ] = Field(
        description="Brokers to connect to first, HOST:PORT each: a list, or a text with commas.",
    )
    tls: Annotated[Tls | None, BeforeValidator(_tls, json_schema_input_type=bool | Tls)] = Field(
        None, description="Encryption: `true` for the defaults, or a mapping of the keys below."
    )
    sasl: Sasl | None = Field(None, description="Login. Default: no login.")
    rack: str | None = Field(
        None,
        description="Our rack (`client.rack`): replicas in this rack are preferred for reading.",
    )
    request_timeout: Annotated[Duration, between("100ms", "1h")] = Field(
        Duration.parse("30s"), description="Timeout of one request."
    )

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """Host (an IPv6 address without its brackets) and port of every bootstrap broker."""
        return tuple(map(host_and_port, self.bootstrap))

    @property
    def login(self) -> str:
        """The user name of the login, "" if the file does not contain one."""
        return self.sasl.username if isinstance(self.sasl, PasswordSasl) else ""

    @property
    def said_kind(self) -> TargetKind | None:
        """The kind of the cluster, `None` if the file leaves it to what the cluster shows."""
        return None

    @property
    def holds_credentials(self) -> bool:
        """Whether someone who reads the section could log in with it."""
        return isinstance(self.sasl, PasswordSasl | OauthSasl) or bool(self.tls and self.tls.cert)

    @contradictions
    def _msk_is_encrypted(self) -> Iterator[Placed]:
        if isinstance(self.sasl, MskSasl) and self.tls is None:
            text = "AWS_MSK_IAM needs encryption; add `tls: true` beside sasl"
            yield Placed(("sasl", "mechanism"), text)


class ClusterKind(StrEnum):
    """The kinds of clusters that a file may name, or `auto`."""

    AUTO = "auto"
    KAFKA = "kafka"
    REDPANDA = "redpanda"
    SERVERLESS = "serverless"


_KINDS = {
    ClusterKind.KAFKA: TargetKind.KAFKA,
    ClusterKind.REDPANDA: TargetKind.REDPANDA,
    ClusterKind.SERVERLESS: TargetKind.SERVERLESS,
}


class LinkCluster(ClusterConfig):
    """A cluster of a link, with what it is."""

    kind: ClusterKind = Field(
        ClusterKind.AUTO,
        description="Kind of the cluster, which decides the configs and the replication factor of"
        " mirror topics on it: `kafka`, `redpanda`, `serverless` (Redpanda Serverless), or `auto`"
        " for what it shows itself to be (docs/redpanda-connect.md). At the source it counts once"
        " the link is turned round.",
    )

    @property
    def said_kind(self) -> TargetKind | None:
        """The kind of the cluster, `None` if the file leaves it to what the cluster shows."""
        return _KINDS.get(self.kind)
