"""An object store in the file: its URL, the login, and the settings of objects."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    ValidationInfo,
)

from towpath.settings.secrets import SecretText
from towpath.settings.sections.azure import AzureLogin
from towpath.settings.sections.clusters import Tls, tls_or_true
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.units import Duration, Size, between

_SUCH_AS = "s3://bucket/prefix, gs://bucket/prefix, abfs://container@account/prefix or file:///path"


class StoreKind(StrEnum):
    """The kinds of stores, by the scheme of their URL."""

    S3 = "s3"
    GOOGLE = "gs"
    AZURE = "abfs"
    FILES = "file"


_DAY = 86_400_000
_BUCKETS = frozenset({StoreKind.S3, StoreKind.GOOGLE})


class StoreLayout(StrEnum):
    """The layouts of a store: an archive, or the log files of brokers."""

    ARCHIVE = "archive"
    BROKER_LOG = "broker-log"
    TIERED_STORAGE = "tiered-storage"


class AwsKeys(Section):
    """The login to an S3 store with a pair of keys."""

    access_key_id: str = Field(min_length=1, description="Name of the access key.")
    secret_access_key: SecretText = Field(description="Secret of the access key.")
    session_token: SecretText | None = Field(
        None, description="Secret: the token of temporary keys."
    )


class EncryptionMode(StrEnum):
    """The ways in which S3 encrypts objects."""

    S3 = "AES256"
    KMS = "aws:kms"
    KMS_TWICE = "aws:kms:dsse"


class StoreEncryption(Section):
    """Encryption of objects by the S3 store itself."""

    mode: EncryptionMode = Field(description="Who holds the keys.")
    kms_key: str | None = Field(
        None, min_length=1, description="The key in AWS KMS. Default: that of the bucket."
    )

    @contradictions
    def _has_a_use_for_the_key(self) -> Iterator[Placed]:
        if self.kms_key and self.mode is EncryptionMode.S3:
            yield Placed(("kms_key",), "is only used with the modes aws:kms and aws:kms:dsse")


class LockMode(StrEnum):
    """The modes of object locks: who may delete a locked object early."""

    GOVERNANCE = "governance"
    COMPLIANCE = "compliance"


class StoreLock(Section):
    """Locks that the store keeps on objects, so that nobody can replace or delete them."""

    mode: LockMode = Field(
        description="`governance`: who has a right of its own may delete an object all the same"
        " (Azure: an unlocked policy). `compliance`: nobody, not even the owner of the account"
        " (Azure: a locked policy)."
    )
    days: Annotated[int, Field(strict=True, ge=1, le=36_500)] = Field(
        description="Days for which each object is locked, from when it is written."
    )

    def until(self, written: int) -> int:
        """Return until when an object written at a time is locked, both in ms."""
        return written + self.days * _DAY


def _require_no_query(text: str) -> None:
    """Refuse what may hold a secret, such as a signature, without repeating it."""
    if "?" in text or "#" in text:
        raise ValueError("has a part behind ? or # in it; write the URL without that")


def _url(text: str, info: ValidationInfo) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        raise ValueError(f"is not a URL such as {_SUCH_AS}") from None
    if parts.password is not None:
        # The text itself is not repeated, as it holds a password.
        raise ValueError("has a password in it; give the login in keys of its own")
    _require_no_query(text)
    if parts.scheme == StoreKind.FILES:
        return _file_url(text, parts.netloc, parts.path, info)
    if parts.scheme in {StoreKind.AZURE, "abfss"}:
        return _azure_url(text, parts.username or "", parts.hostname or "", parts.path)
    if parts.scheme not in _BUCKETS or not parts.hostname or parts.username is not None:
        raise ValueError(f"{text[:100]!r} is not a URL such as {_SUCH_AS}")
    return f"{parts.scheme}://{parts.netloc}/{parts.path.strip('/')}".rstrip("/")


def _azure_url(text: str, container: str, host: str, path: str) -> str:
    if not container or not host:
        raise ValueError(f"{text[:100]!r} is not a URL such as abfs://container@account/prefix")
    if "." not in host:
        host += ".dfs.core.windows.net"
    host = host.replace(".blob.", ".dfs.", 1)
    return f"abfs://{container}@{host}/{path.strip('/')}".rstrip("/")


def _file_url(text: str, host: str, path: str, info: ValidationInfo) -> str:
    if host not in {"", "localhost"}:
        raise ValueError(
            f"{text[:100]!r} names a host; write file:///path, or file:path below here"
        )
    if not path.strip("/"):
        raise ValueError("names no folder")
    folder = Path((info.context or {}).get("folder", "."))
    return (folder / unquote(path)).absolute().as_uri()


def endpoint_url(text: str) -> str:
    """Return the URL of a service, if it is valid.

    Raises:
        ValueError: It is none.
    """
    try:
        parts = urlsplit(text)
        is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError("is not a URL such as https://store:9000") from None
    if parts.username is not None:
        raise ValueError("has a login in it; give the login under `keys`")
    _require_no_query(text)
    if not is_whole:
        raise ValueError(f"{text[:100]!r} is not a URL such as https://store:9000")
    return text.rstrip("/")


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


_ONLY = {
    StoreKind.S3: ("region", "path_style", "keys", "profile", "encryption"),
    StoreKind.GOOGLE: ("service_account",),
    StoreKind.AZURE: ("azure",),
    StoreKind.FILES: (),
}
_LOCKING = frozenset({StoreKind.S3, StoreKind.AZURE})
_NOT_WITH_FILES = ("endpoint", "tls", "storage_class")


class StoreConfig(Section):
    """A location for objects: a bucket, or a folder."""

    url: Annotated[str, AfterValidator(_url)] = Field(
        description=f"Where the objects are: {_SUCH_AS}. `file:path` is relative to the folder of"
        " this file. All machines that work on it must see the same."
    )
    layout: StoreLayout = Field(
        StoreLayout.ARCHIVE,
        description="What lies there. Besides an `archive` of Towpath, a restore reads a folder of"
        " a broker's `log.dirs` (`broker-log`) and the bucket of pinterest's `tiered-storage`.",
    )
    region: str | None = Field(
        None, min_length=1, description="S3: the region. Default: that of the environment."
    )
    endpoint: Annotated[str, AfterValidator(endpoint_url)] | None = Field(
        None, description="URL of a store that is not the provider's own, such as MinIO or Ceph."
    )
    path_style: StrictBool | None = Field(
        None,
        description="S3: whether the bucket is part of the path instead of the host. Default: true"
        " with an `endpoint`.",
    )
    keys: AwsKeys | None = Field(
        None,
        description="S3: login. Default: what AWS's tools find, in the environment, files, or the"
        " machine's role.",
    )
    profile: str | None = Field(
        None, min_length=1, description="S3: profile in the files of AWS's tools."
    )
    service_account: SecretText | None = Field(
        None,
        description="Google: the JSON key of a service account. Default: what Google's tools find,"
        " in GOOGLE_APPLICATION_CREDENTIALS (also for workload identity federation), files, or the"
        " machine's account.",
    )
    azure: AzureLogin | None = Field(
        None,
        description="Azure: login. Default: what Azure's tools find: a workload identity, a managed"
        " identity, the environment, or `az login`.",
    )
    tls: Annotated[Tls | None, BeforeValidator(tls_or_true, json_schema_input_type=bool | Tls)] = (
        Field(None, description="Certificates for https. Default: the authorities of the system.")
    )
    timeout: Annotated[Duration, between("1s", "1h")] = Field(
        Duration.parse("2m"),
        description="Time for one call; until then it is repeated after timeouts, 429 and 5xx.",
    )
    request_timeout: Annotated[Duration, between("100ms", "10m")] = Field(
        Duration.parse("30s"),
        description="Time in which something must arrive at one request; up to three minutes more"
        " for the answer to a large part, which may still wait in buffers of a slow line.",
    )
    part_size: Annotated[Size, between("5MiB", "512MiB")] = Field(
        Size.parse("8MiB"),
        description="Size of the parts in which large objects are written. An object has at most"
        " 10,000 parts.",
    )
    storage_class: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...],
        BeforeValidator(_listed, json_schema_input_type=str | tuple[str, ...]),
    ] = Field(
        (),
        description="Storage class of segments by level, such as `[STANDARD, STANDARD_IA]` or"
        " `[Hot, Cool]`; the last one counts for higher levels. Default: that of the bucket.",
    )
    encryption: StoreEncryption | None = Field(
        None, description="S3: encryption by the store. Default: that of the bucket."
    )
    lock: StoreLock | None = Field(
        None,
        description="S3 and Azure: lock the objects of segments, entries of the commit log and"
        " schemas. The bucket must have object lock, the container immutability of versions.",
    )
    spread: StrictBool = Field(
        False,
        description="Whether keys begin with four hex digits, for stores that limit requests by"
        " prefix. Never change it later.",
    )

    @property
    def kind(self) -> StoreKind:
        """The kind of store that the URL names."""
        return StoreKind(self.url.partition(":")[0])

    @property
    def bucket(self) -> str:
        """The bucket, or the container; "" for files."""
        parts = urlsplit(self.url)
        return parts.username or "" if self.kind is StoreKind.AZURE else parts.netloc

    @property
    def account(self) -> str:
        """The storage account of Azure."""
        return (urlsplit(self.url).hostname or "").partition(".")[0]

    @property
    def blob_host(self) -> str:
        """The host of the storage account's blobs."""
        return (urlsplit(self.url).hostname or "").replace(".dfs.", ".blob.", 1)

    @property
    def prefix(self) -> str:
        """The prefix of keys in the bucket, without outer slashes; the folder of a file store."""
        path = urlsplit(self.url).path
        return unquote(path) if self.kind is StoreKind.FILES else path.strip("/")

    @property
    def holds_credentials(self) -> bool:
        """Whether someone who reads the section could log in with it."""
        azure = self.azure is not None and self.azure.client_id is None
        logins = (self.keys, self.service_account, self.tls and self.tls.cert)
        return azure or any(each is not None for each in logins)

    def class_of(self, level: int) -> str:
        """Return the storage class of a level's segments; "" for the bucket's default."""
        chosen = self.storage_class
        return chosen[min(level, len(chosen) - 1)] if chosen else ""

    @contradictions
    def _only_what_is_used(self) -> Iterator[Placed]:
        others = [name for kind, names in _ONLY.items() if kind is not self.kind for name in names]
        for name in (each for each in others if getattr(self, each, None) is not None):
            yield Placed((name,), f"is not used with {self.kind}://")
        if self.kind not in _LOCKING and getattr(self, "lock", None) is not None:
            yield Placed(("lock",), "is used with s3:// and abfs:// alone")
        for name in _NOT_WITH_FILES if self.kind is StoreKind.FILES else ():
            if getattr(self, name, None):
                yield Placed((name,), "is not used with file://")

    @contradictions
    def _encrypted(self) -> Iterator[Placed]:
        if self.tls and self.endpoint and not self.endpoint.startswith("https:"):
            yield Placed(("endpoint",), "must begin with https: where tls is given")

    @contradictions
    def _one_login(self) -> Iterator[Placed]:
        if self.keys and self.profile:
            yield Placed(("profile",), "give only one of keys and profile")
