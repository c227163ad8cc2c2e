"""Login with OAuth 2 client credentials, at a token server and a registry that look at it all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from tests.support.kafka import wait_until
from tests.support.registries.registry import LocalRegistry
from tests.support.registries.registry_proxy import RegistryProxy
from tests.support.registries.schema_worlds import Bringing, fill
from tests.support.registries.tokens import CLIENT, WORD, TokenServer
from towpath.model.errors import RegistryRefusedError, UnreachableError
from towpath.model.nouns import Side
from towpath.registry.registry import Registry
from towpath.settings import RegistryConfig

NewRegistry = Callable[..., LocalRegistry]


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenServer]:
    monkeypatch.setenv("CLIENT_WORD", WORD)
    made = TokenServer()
    yield made
    made.stop()


@pytest.fixture
def guarded(tokens: TokenServer) -> Iterator[Callable[..., RegistryProxy]]:
    """Return what puts a guard before a registry, which lets requests with a good token through."""
    made: list[RegistryProxy] = []

    def guard(registry: LocalRegistry) -> RegistryProxy:
        made.append(RegistryProxy(registry.url, allows=tokens.allows))
        return made[-1]

    yield guard
    for each in made:
        each.stop()


def login(tokens: TokenServer, **more: Any) -> dict[str, Any]:
    return {
        "token_url": tokens.url,
        "client_id": CLIENT,
        "client_secret": "env:CLIENT_WORD",
        **({"scope": tokens.scope} if tokens.scope else {}),
        **more,
    }


def opened(url: str, oauth: dict[str, Any], **more: Any) -> Registry:
    config = RegistryConfig.model_validate({"url": url, "oauth": oauth, **more})
    return Registry(config, Side.SOURCE, 8)


def test_schemas_move_while_tokens_expire(
    new_registry: NewRegistry, tokens: TokenServer, guarded: Callable[..., RegistryProxy]
) -> None:
    ours, theirs = new_registry(), new_registry()
    fill(ours)
    tokens.life, tokens.scope = 4.0, "registry:read registry:write"
    source, target = ({"url": guarded(each).url, "oauth": login(tokens)} for each in (ours, theirs))
    with Bringing({"source": source, "target": target}) as link:

        def renewed() -> bool:
            link.sync()
            assert (link.failed, link.look().problems) == ({}, ())
            return tokens.issued >= 6

        wait_until(renewed, "each side has had three tokens")
    assert theirs.schemas() == ours.schemas()
    # Each is renewed before it expires, unless this machine stands still meanwhile.
    assert tokens.refused.keys() <= {"expired"}
    assert tokens.refused.total() < tokens.issued


def test_a_token_that_expires_earlier_than_was_said_is_renewed_once_it_is_refused(
    new_registry: NewRegistry, tokens: TokenServer, guarded: Callable[..., RegistryProxy]
) -> None:
    registry = new_registry()
    fill(registry)
    tokens.told = 3600
    made = opened(guarded(registry).url, login(tokens))
    assert len(made.subjects()) == 3
    assert (tokens.issued, tokens.refused) == (1, {})
    tokens.life = 0.5
    tokens.forget()
    assert len(made.subjects()) == 3
    assert (tokens.issued, tokens.refused) == (2, {"no token of ours": 1})
    wait_until(lambda: len(made.subjects()) == 3 and tokens.issued > 2, "the second one expired")
    assert tokens.refused["expired"] == tokens.issued - 2, "one refusal, one new token"
    made.close()


def test_threads_share_one_token(
    new_registry: NewRegistry, tokens: TokenServer, guarded: Callable[..., RegistryProxy]
) -> None:
    registry = new_registry()
    fill(registry)
    made = opened(guarded(registry).url, login(tokens))
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda _: made.subjects(), range(40))]
    assert found == [found[0]] * 40
    assert (tokens.issued, tokens.refused) == (1, {})
    made.close()


def test_threads_whose_token_is_refused_at_once_share_the_next_one(
    new_registry: NewRegistry, tokens: TokenServer
) -> None:
    registry = new_registry()
    fill(registry)
    all_refused = Barrier(8, timeout=60)

    def allows(authorization: str) -> bool:
        good = tokens.allows(authorization)
        if not good:
            all_refused.wait()
        return good

    proxy = RegistryProxy(registry.url, allows=allows)
    made = opened(proxy.url, login(tokens), timeout="90s")
    assert len(made.subjects()) == 3
    tokens.forget()
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda _: made.subjects(), range(8))]
    assert found == [found[0]] * 8
    assert (tokens.issued, tokens.refused) == (2, {"no token of ours": 8})
    made.close()
    proxy.stop()


@pytest.mark.parametrize(
    ("word", "more", "said"),
    [
        ("wrong", {}, "HTTP 401: "),
        (WORD, {"client_id": "another"}, "HTTP 401: "),
        (WORD, {"scope": "registry:admin"}, "HTTP 400: "),
    ],
)
def test_a_client_that_is_refused_is_told_where_to_look(
    tokens: TokenServer, monkeypatch: pytest.MonkeyPatch, word: str, more: dict[str, Any], said: str
) -> None:
    monkeypatch.setenv("CLIENT_WORD", word)
    made = opened("http://127.0.0.1:1", login(tokens, **more))
    with pytest.raises(RegistryRefusedError) as caught:
        made.subjects()
    told = str(caught.value)
    assert f"the token server at {tokens.url}: {said}" in told
    assert "refused: invalid_" in told
    assert told.endswith("look at `schemas.source.oauth`")
    assert word not in told
    assert tokens.issued == 0
    made.close()


def test_a_registry_that_takes_no_token_is_told_after_one_renewal(
    new_registry: NewRegistry, tokens: TokenServer
) -> None:
    proxy = RegistryProxy(new_registry().url, allows=lambda _: False)
    made = opened(proxy.url, login(tokens))
    with pytest.raises(RegistryRefusedError, match=r"look at the login under `schemas\.source`"):
        made.subjects()
    assert tokens.issued == 2
    made.close()
    proxy.stop()


def test_a_token_server_that_is_away_is_asked_again_until_the_deadline(
    new_registry: NewRegistry, tokens: TokenServer, guarded: Callable[..., RegistryProxy]
) -> None:
    registry = new_registry()
    fill(registry)
    tokens.failures = 2
    made = opened(guarded(registry).url, login(tokens))
    assert len(made.subjects()) == 3
    made.close()
    tokens.failures = 10_000
    made = opened(guarded(registry).url, login(tokens), timeout="500ms")
    with pytest.raises(UnreachableError) as caught:
        made.subjects()
    assert f"the token server at {tokens.url}: HTTP 503" in str(caught.value)
    made.close()
