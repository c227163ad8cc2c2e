"""The section `schemas`: which subjects of a schema registry the target's registry gets."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    Strict,
    StrictBool,
    ValidationInfo,
    field_validator,
    model_validator,
)

from towpath.config.clusters import Tls
from towpath.config.naming import PLACEHOLDER, Expression, Renaming, fits
from towpath.config.problems import must_be, not_empty, placed_error
from towpath.config.secrets import SecretText
from towpath.config.shape import Section
from towpath.config.units import Duration, between

_SUBJECT = "subject"
_WHOLE = "{subject}"


class SchemaIds(StrEnum):
    """Which ids schemas get on the target."""

    KEEP = "keep"
    TRANSLATE = "translate"


class SchemaVersions(StrEnum):
    """Which versions of a subject are brought over."""

    ALL = "all"
    LATEST = "latest"


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError("is not a URL such as http://registry:8081") from None
    if parts.username is not None or parts.password is not None:
        # The text itself is not repeated, as it holds a password.
        raise ValueError("has a login in it; give the login under `basic`")
    if not is_whole or parts.query or parts.fragment:
        raise ValueError(f"{text[:100]!r} is not a URL such as http://registry:8081")
    return text.rstrip("/")


class DeletedVersions(StrEnum):
    """What becomes of versions that are soft-deleted at the source."""

    SKIP = "skip"
    KEEP = "keep"


class Extras(StrEnum):
    """What becomes of parts of a schema that not every registry can hold."""

    KEEP = "keep"
    STRIP = "strip"
    FAIL = "fail"


class BasicLogin(Section):
    """Login to a registry with a name and a password."""

    username: str = Field(min_length=1, description="Name to log in with.")
    password: SecretText = Field(description="Secret to log in with.")


class OauthLogin(Section):
    """Login to a registry with a token that a token server gives (client credentials)."""

    token_url: Annotated[str, AfterValidator(_url)] = Field(description="URL of the token server.")
    client_id: str = Field(min_length=1, description="Name to get a token with.")
    client_secret: SecretText = Field(description="Secret to get a token with.")
    scope: str | None = Field(None, description="Scope of the token. Default: none is asked for.")


def _listed(value: object) -> object:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def _tls(value: object) -> object:
    """Read `tls: true` as the defaults, which are those without the key, too."""
    if value is True:
        return {}
    if isinstance(value, dict | Tls) or value is None:
        return value
    raise ValueError(must_be("true, or a mapping of ca, cert, key, ...", value))


class RegistryConfig(Section):
    """A schema registry: where it is, and how to log in."""

    url: Annotated[
        tuple[Annotated[str, AfterValidator(_url)], ...],
        BeforeValidator(_listed, json_schema_input_type=str | tuple[str, ...]),
        AfterValidator(not_empty),
    ] = Field(
        description="URLs of the registry, http or https: a list, or a text with commas. When one"
        " does not answer, the next one is asked."
    )
    tls: Annotated[Tls | None, BeforeValidator(_tls, json_schema_input_type=bool | Tls)] = Field(
        None, description="Certificates for https. Default: the authorities of the system."
    )
    basic: BasicLogin | None = Field(None, description="Login with a name and a password.")
    token: SecretText | None = Field(None, description="Secret: a bearer token to log in with.")
    oauth: OauthLogin | None = Field(
        None, description="Login with OAuth 2 client credentials; the token is renewed in time."
    )
    timeout: Annotated[Duration, between("100ms", "10m")] = Field(
        Duration.parse("30s"),
        description="Time for one call, with all its repetitions after 429, 5xx and timeouts.",
    )

    @property
    def holds_credentials(self) -> bool:
        """Whether someone who reads this value could log in with it."""
        cert = self.tls is not None and self.tls.cert is not None
        return cert or any(each is not None for each in (self.basic, self.token, self.oauth))

    @model_validator(mode="after")
    def _one_login(self) -> Self:
        given = [name for name in ("basic", "token", "oauth") if getattr(self, name) is not None]
        if len(given) > 1:
            raise placed_error(f"give only one of {', '.join(given)}", given[-1])
        return self


class SchemasConfig(Section):
    """Subjects of a schema registry that the target's gets, with all that they refer to."""

    source: RegistryConfig = Field(description="The schema registry to read from.")
    target: RegistryConfig = Field(description="The schema registry to write to.")
    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        (".*",),
        description="Python regular expressions; a subject whose whole name matches one is brought"
        " over, with all schemas that it refers to.",
    )
    exclude: tuple[Expression, ...] = Field(
        (),
        description="Regular expressions; a subject whose whole name matches one is left alone,"
        " unless another schema refers to it.",
    )
    rename: str = Field(
        _WHOLE,
        description="Name on the target; `{subject}` stands for the name at the source, `{1}` and"
        " `{name}` for groups of the first expression of `include` that matches it. References"
        " between schemas follow.",
    )
    versions: SchemaVersions = Field(
        SchemaVersions.ALL,
        description="Whether `all` versions of a subject are brought over, or only the `latest`,"
        " each with the versions that it refers to.",
    )
    ids: SchemaIds = Field(
        SchemaIds.KEEP,
        description="Whether schemas `keep` their ids and versions, so that records need no change,"
        " or get those that the target gives them (`translate`).",
    )
    deleted: DeletedVersions = Field(
        DeletedVersions.SKIP,
        description="Whether versions that are soft-deleted at the source are left out (`skip`), or"
        " registered and then soft-deleted on the target (`keep`), for records that name them.",
    )
    metadata: Extras = Field(
        Extras.KEEP,
        description="Metadata and tags of schemas: `keep`, `strip` for a target that cannot hold"
        " them, or `fail` to leave out schemas that have some.",
    )
    rules: Extras = Field(Extras.KEEP, description="Rule sets of schemas, in the same way.")
    normalize: StrictBool = Field(
        False,
        description="Whether the target normalizes what it gets. Schemas are then equal if the"
        " target says so.",
    )
    interval: Annotated[Duration, between("1s", "1d")] = Field(
        Duration.parse("1m"), description="How often a run looks at both registries."
    )
    max_requests: Annotated[int, Strict(), Field(ge=1, le=100)] = Field(
        8, description="The most requests that one registry gets at the same time."
    )

    @field_validator("rename")
    @classmethod
    def _groups(cls, rename: str, info: ValidationInfo) -> str:
        if not PLACEHOLDER.search(rename):
            raise ValueError("would give all subjects one name; use {subject}, {1} or {name}")
        _renaming(rename, info.data.get("include", ())).check()
        return rename

    @model_validator(mode="after")
    def _deleted_by_number(self) -> Self:
        if self.deleted is DeletedVersions.KEEP and self.ids is not SchemaIds.KEEP:
            raise placed_error("`keep` needs `ids: keep`, which keeps numbers", "deleted")
        return self

    @model_validator(mode="after")
    def _not_onto_itself(self) -> Self:
        shared = set(self.source.url) & set(self.target.url)
        if shared and self.rename == _WHOLE:
            text = f"source and target are one registry ({min(shared)})"
            raise placed_error(f"{text}; give the subjects other names, or remove it", "rename")
        return self

    def matches(self, subject: str) -> bool:
        """Return whether a subject of the source is brought over for its own sake."""
        return fits(subject, self.include) and not fits(subject, self.exclude)

    def target_name(self, subject: str) -> str:
        """Return the name on the target of a subject of the source.

        A subject that only references reach has no groups; it keeps its name then.

        Raises:
            ConfigError: The subject would have no name.
        """
        if not fits(subject, self.include) and self.rename != _WHOLE:
            named = set(PLACEHOLDER.findall(self.rename))
            if named != {_SUBJECT}:
                return subject
        return _renaming(self.rename, self.include).name(subject)


def _renaming(rename: str, include: tuple[str, ...]) -> Renaming:
    return Renaming(_SUBJECT, "schemas.rename", rename, include)
