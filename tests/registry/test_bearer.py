"""Login with bearer tokens at a real registry, which checks signature, audience, end and role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters.certificates import Vault
from tests.support.kafka import wait_until
from tests.support.registries.registry import LocalRegistry
from tests.support.registries.schema_worlds import Bringing, fill
from tests.support.registries.signed import Signer
from tests.support.registries.tokens import CLIENT, WORD, TokenServer
from towpath.model.errors import RegistryRefusedError

Pair = tuple[LocalRegistry, LocalRegistry]
WRITER, READER = "admin", "readonly"
"""Roles of the registry."""


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    return Signer(tmp_path / "signer")


@pytest.fixture
def tokens(signer: Signer, monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenServer]:
    monkeypatch.setenv("CLIENT_WORD", WORD)
    made = TokenServer(made=lambda life: signer.token(CLIENT, WRITER, life))
    yield made
    made.stop()


@pytest.fixture
def sides(new_registry: Callable[..., LocalRegistry], signer: Signer) -> Pair:
    return _filled(new_registry, signer)


def _filled(new_registry: Callable[..., LocalRegistry], signer: Signer, **more: Any) -> Pair:
    """Return a source with schemas and a target without, which let in who has a token."""
    ours, theirs = (new_registry(auth=signer.security, **more) for _ in range(2))
    for each in (ours, theirs):
        assert each.answer("GET", "/subjects")[0] == 401
        each.bear(signer.token("tests", "admin", 3600))
    fill(ours)
    return ours, theirs


def between(sides: Pair, **login: Any) -> dict[str, Any]:
    source, target = ({"url": each.url, **login} for each in sides)
    return {"source": source, "target": target}


def oauth(tokens: TokenServer) -> dict[str, Any]:
    return {"token_url": tokens.url, "client_id": CLIENT, "client_secret": "env:CLIENT_WORD"}


def test_schemas_move_with_a_token_over_tls(
    new_registry: Callable[..., LocalRegistry],
    signer: Signer,
    vault: Vault,
    tmp_path: Path,
) -> None:
    sides = _filled(new_registry, signer, vault=vault)
    word = tmp_path / "registry.token"
    word.write_text(signer.token(CLIENT, WRITER, 3600) + "\n")
    login = {"token": f"file:{word}", "tls": {"ca": str(vault.ca)}}
    with Bringing(between(sides, **login)) as link:
        link.sync()
        assert (link.failed, link.look().problems) == ({}, ())
        assert {row.verdict for row in link.client.compared(ask=True).rows} == {"equal"}
    assert sides[1].schemas() == sides[0].schemas()


@pytest.mark.soak
def test_tokens_of_client_credentials_are_renewed_before_and_after_their_end(
    sides: Pair, tokens: TokenServer
) -> None:
    ours, theirs = sides
    tokens.life = 4.0
    with Bringing(between(sides, oauth=oauth(tokens))) as link:

        def renewed() -> bool:
            link.sync()
            assert (link.failed, link.look().problems) == ({}, ())
            return tokens.issued >= 6

        wait_until(renewed, "each side has had three tokens")
    assert theirs.schemas() == ours.schemas()
    tokens.told, before = 3600, tokens.issued
    with Bringing(between(sides, oauth=oauth(tokens))) as link:

        def refused() -> bool:
            ours.register(f"more-{tokens.issued}", '"string"')
            link.sync()
            assert (link.failed, link.look().problems) == ({}, ())
            return tokens.issued >= before + 6

        wait_until(refused, "the registries refused tokens that should have lived longer")
    assert theirs.schemas() == ours.schemas()


@pytest.mark.parametrize("wrong", ["signature", "audience", "end"])
def test_a_token_that_the_registry_refuses_is_named_and_not_shown(
    sides: Pair, signer: Signer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    word = {
        "signature": Signer(tmp_path / "another").token(CLIENT, WRITER, 3600),
        "audience": signer.token(CLIENT, WRITER, 3600, audience="another"),
        "end": signer.token(CLIENT, WRITER, -5),
    }[wrong]
    monkeypatch.setenv("REGISTRY_TOKEN", word)
    with Bringing(between(sides, token="env:REGISTRY_TOKEN")) as link:  # noqa: S106
        (problem,) = link.sync().problems
    assert "(401); look at the login under `schemas.source`" in str(problem)
    assert word not in str(problem)
    assert sides[1].schemas() == {}


def test_a_token_that_may_only_read_is_named_for_each_subject(
    sides: Pair, signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGISTRY_TOKEN", signer.token(CLIENT, READER, 3600))
    with Bringing(between(sides, token="env:REGISTRY_TOKEN")) as link:  # noqa: S106
        link.sync()
        error = link.failed.pop("address")
        assert isinstance(error, RegistryRefusedError)
        assert "(403); look at the login under `schemas.target`" in str(error)
        assert link.failed.keys() == {"order", "person"}, "they refer to it"
    assert sides[1].schemas() == {}
