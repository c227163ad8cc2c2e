"""A schema registry in the file: its URLs, its make, and the login."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from towpath.settings.problems import not_empty
from towpath.settings.secrets import SecretText
from towpath.settings.sections.clusters import Tls, tls_or_true
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.units import Duration, between

APICURIO_PATH = "/apis/ccompat/"
"""Part of the URL under which Apicurio has the interface of Confluent's registry."""


class RegistryKind(StrEnum):
    """The makes of registries, as far as their features differ."""

    AUTO = "auto"
    CONFLUENT = "confluent"
    APICURIO = "apicurio"
    KARAPACE = "karapace"
    SERVERLESS = "serverless"


class ApicurioId(StrEnum):
    """The two kinds of ids that Apicurio's clients can write into records."""

    CONTENT = "content"
    GLOBAL = "global"


def _url(text: str) -> str:
    return _whole(text, "give the login under `basic`")


def _token_url(text: str) -> str:
    return _whole(text, "give the login as `client_id` and `client_secret`")


def _whole(text: str, instead: str) -> str:
    try:
        parts = urlsplit(text)
        is_whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    # The text is not repeated where it may hold a secret.
    if "@" in text:
        raise ValueError(f"has a login in it; {instead}")
    if "?" in text or "#" in text:
        raise ValueError("has a part behind ? or # in it; write the URL without that")
    if not is_whole:
        raise ValueError(f"{text[:100]!r} is not a URL such as http://registry:8081")
    return text.rstrip("/")


def _no_colon(username: str) -> str:
    if ":" in username:
        raise ValueError("must have no colon, as the password begins behind the first one")
    return username


class BasicLogin(Section):
    """Login to a registry with a name and a password."""

    username: Annotated[str, AfterValidator(_no_colon)] = Field(
        min_length=1, description="Name to log in with."
    )
    password: SecretText = Field(description="Secret to log in with.")


class OauthLogin(Section):
    """Login to a registry with a token that a token server gives (client credentials)."""

    token_url: Annotated[str, AfterValidator(_token_url)] = Field(
        description="URL of the token server."
    )
    client_id: str = Field(min_length=1, description="Name to get a token with.")
    client_secret: SecretText = Field(description="Secret to get a token with.")
    scope: str | None = Field(None, description="Scope of the token. Default: none is asked for.")


def _listed(value: object) -> object:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


class RegistryConfig(Section):
    """A schema registry: its URLs, and the login."""

    url: Annotated[
        tuple[Annotated[str, AfterValidator(_url)], ...],
        BeforeValidator(_listed, json_schema_input_type=str | tuple[str, ...]),
        AfterValidator(not_empty),
    ] = Field(
        description="URLs of the registry, http or https: a list, or a text with commas. When one"
        " does not answer, the next one is asked."
    )
    tls: Annotated[Tls | None, BeforeValidator(tls_or_true, json_schema_input_type=bool | Tls)] = (
        Field(None, description="Certificates for https. Default: the authorities of the system.")
    )
    basic: BasicLogin | None = Field(None, description="Login with a name and a password.")
    token: SecretText | None = Field(None, description="Secret: a bearer token to log in with.")
    oauth: OauthLogin | None = Field(
        None, description="Login with OAuth 2 client credentials; the token is renewed in time."
    )
    kind: RegistryKind = Field(
        RegistryKind.AUTO,
        description="Make of the registry: `auto` finds out whether it is `apicurio` or `karapace`"
        " and takes any other one for `confluent`, which is right for Redpanda, too. `serverless`,"
        " as Redpanda Serverless, must be said: it holds neither metadata nor rules.",
    )
    apicurio_id: ApicurioId = Field(
        ApicurioId.CONTENT,
        description="Which of Apicurio's numbers records name: that of the `content`, as its"
        " clients do by default, or the `global` one of the version. Other registries have one id.",
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

    @contradictions
    def _one_login(self) -> Iterator[Placed]:
        names = ("basic", "token", "oauth")
        given = [name for name in names if getattr(self, name, None) is not None]
        if len(given) > 1:
            yield Placed((given[-1],), f"give only one of {', '.join(given)}")

    @contradictions
    def _sendable(self) -> Iterator[Placed]:
        word = self.token.reveal() if self.token is not None else ""
        if not word.isascii() or not word.isprintable() or " " in word:
            text = "is no token: it has blanks, line breaks or letters that no header may have"
            yield Placed(("token",), text)

    @property
    def places(self) -> frozenset[tuple[str, str, int, str]]:
        """The normalized addresses of the URLs, for comparing registries."""
        found = [urlsplit(url) for url in self.url]
        return frozenset(
            (
                each.scheme,
                (each.hostname or "").lower(),
                each.port or (443 if each.scheme == "https" else 80),
                each.path,
            )
            for each in found
        )

    @contradictions
    def _native(self) -> Iterator[Placed]:
        wrong = [url for url in self.url if APICURIO_PATH not in f"{url}/"]
        if self.kind is RegistryKind.APICURIO and wrong:
            text = f"{wrong[0]} must be the URL of Apicurio's interface for clients of Confluent's"
            yield Placed(("url",), f"{text}: it ends in {APICURIO_PATH}v7")
