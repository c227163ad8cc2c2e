"""Connections of both sides: brokers, schema registry, TLS and logins."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, field_validator, model_validator

from towpath.mirror.connect.values import ByteSize, GoDuration, Hidden, Listed
from towpath.settings.problems import not_empty, placed_error
from towpath.settings.shape import Section


class ClientCert(Section):
    """A client certificate, as files or as text."""

    cert: Hidden | None = None
    key: Hidden | None = None
    cert_file: str = ""
    key_file: str = ""
    password: Hidden | None = None

    @model_validator(mode="after")
    def _as_one(self) -> Self:
        if (self.cert or self.key) and (self.cert_file or self.key_file):
            others = ("key", "cert_file", "key_file")
            raise placed_error("give both as text, or both as files", "cert", about=others)
        if self.cert and self.key:
            return self
        if self.cert or self.key:
            raise placed_error("is needed with its `key`", "cert", about=("key",))
        if not (self.cert_file and self.key_file):
            raise placed_error(
                "is needed with its `key_file`", "cert_file", about=("key_file", "cert")
            )
        return self


class ConnectTls(Section):
    """The TLS settings of a connection."""

    enabled: StrictBool = False
    skip_cert_verify: StrictBool = False
    enable_renegotiation: StrictBool = False
    root_cas: str = ""
    root_cas_file: str = ""
    client_certs: tuple[ClientCert, ...] = ()

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.enabled and self.skip_cert_verify:
            text = "is refused: anyone could answer; name the authority with `root_cas_file`"
            raise placed_error(text, "skip_cert_verify", about=("enabled",))
        if self.root_cas and self.root_cas_file:
            text = "give one of `root_cas` and `root_cas_file`"
            raise placed_error(text, "root_cas", about=("root_cas_file",))
        if len(self.client_certs) > 1:
            raise placed_error("only one client certificate is taken", "client_certs", 1)
        return self


_MECHANISMS = Literal[
    "none", "PLAIN", "OAUTHBEARER", "SCRAM-SHA-256", "SCRAM-SHA-512", "AWS_MSK_IAM",
    "REDPANDA_CLOUD_SERVICE_ACCOUNT",
]  # fmt: skip


class AwsCredentials(Section):
    """The source of AWS credentials."""

    profile: str = ""
    id: str = ""
    secret: Hidden | None = None
    token: Hidden | None = None
    from_ec2_role: StrictBool = False
    role: str = ""
    role_external_id: str = ""


class Aws(Section):
    """Login to Amazon MSK."""

    region: str = ""
    endpoint: str = ""
    tcp: dict[str, Any] = Field(default_factory=dict)
    credentials: AwsCredentials | None = None

    @field_validator("credentials")
    @classmethod
    def _from_environment(cls, given: AwsCredentials | None) -> AwsCredentials | None:
        if given is not None and given.model_fields_set:
            name = sorted(given.model_fields_set)[0]
            text = "is not taken from the file; the credentials that botocore finds are used"
            raise placed_error(text, name)
        return given


class ConnectSasl(Section):
    """A way to log in."""

    mechanism: _MECHANISMS
    username: str = ""
    password: Hidden | None = None
    token: Hidden | None = None
    extensions: dict[str, str] = Field(default_factory=dict, repr=False)
    aws: Aws | None = None

    @field_validator("mechanism")
    @classmethod
    def _possible(cls, mechanism: str) -> str:
        if mechanism == "REDPANDA_CLOUD_SERVICE_ACCOUNT":
            raise ValueError(
                "logs in to a service of Redpanda that is not known here; use SCRAM-SHA-256"
            )
        return mechanism


class KeepAlive(Section):
    """The TCP keep-alive probes of idle connections."""

    idle: GoDuration = 15.0
    interval: GoDuration = 15.0
    count: StrictInt = 9


class Tcp(Section):
    """The TCP settings of connections."""

    connect_timeout: GoDuration = 0.0
    keep_alive: KeepAlive = KeepAlive.model_construct()
    tcp_user_timeout: GoDuration = 0.0


class ConnectCluster(Section):
    """The brokers of a cluster, and how to log in."""

    seed_brokers: Annotated[Listed, AfterValidator(not_empty)]
    client_id: str = "redpanda-connect"
    tls: ConnectTls = ConnectTls.model_construct()
    sasl: tuple[ConnectSasl, ...] = ()
    metadata_max_age: GoDuration = 60.0
    request_timeout_overhead: GoDuration = 10.0
    conn_idle_timeout: GoDuration = 20.0
    tcp: Tcp = Tcp.model_construct()

    @field_validator("sasl")
    @classmethod
    def _one(cls, sasl: tuple[ConnectSasl, ...]) -> tuple[ConnectSasl, ...]:
        if len(sasl) > 1:
            raise placed_error("only one login is tried; leave the one that the cluster takes", 1)
        return sasl


class BasicAuth(Section):
    """Login to a registry with a name and a password."""

    enabled: StrictBool = False
    username: str = ""
    password: Hidden | None = None


class NotOffered(Section):
    """A login method that Towpath does not support."""

    enabled: StrictBool = False
    consumer_key: str = ""
    consumer_secret: Hidden | None = None
    access_token: Hidden | None = None
    access_token_secret: Hidden | None = None
    private_key_file: str = ""
    signing_method: str = ""
    claims: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, Any] = Field(default_factory=dict)

    @field_validator("enabled")
    @classmethod
    def _off(cls, enabled: bool) -> bool:
        if enabled:
            raise ValueError("is not offered here; use `basic_auth`")
        return enabled


class ConnectRegistry(Section):
    """A schema registry, and how to log in."""

    url: str
    timeout: GoDuration = 5.0
    tls: ConnectTls = ConnectTls.model_construct()
    basic_auth: BasicAuth = BasicAuth.model_construct()
    oauth: NotOffered | None = None
    jwt: NotOffered | None = None


def over(size: ByteSize, most: int, text: str) -> ByteSize:
    """Return a size, and raise if it is above the allowed maximum.

    Raises:
        ValueError: The size is above the maximum.
    """
    if size > most:
        raise ValueError(text)
    return size
