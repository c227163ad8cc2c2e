"""What a request without the token, or with a large body, is told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from towpath.http.app import OPENAPI, READY, application
from towpath.http.running_commands import RunningCommands
from towpath.http.tokens import TokenCheck
from towpath.model.secret import Secret

RIGHT = {"Authorization": "Bearer a-long-token"}
WRONG: tuple[Mapping[str, str], ...] = (
    {},
    {"Authorization": "Bearer another"},
    {"Authorization": "Bearer"},
    {"Authorization": "Basic a-long-token"},
    {"Authorization": "Bearer a-long-token-and-more"},
)


def ask(method: str, path: str, headers: Mapping[str, str], **more: Any) -> httpx.Response:
    async def asked() -> httpx.Response:
        inner = application({}, RunningCommands({}))
        app = TokenCheck(inner, Secret("a-long-token"), frozenset({READY, OPENAPI}))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://towpath") as client:
            return await client.request(method, path, headers=headers, **more)

    return asyncio.run(asked())


@pytest.mark.parametrize("headers", WRONG)
def test_nothing_is_told_without_the_token(headers: Mapping[str, str]) -> None:
    for method, path in (("GET", "/links"), ("POST", "/links/a/promote"), ("GET", "/none")):
        answer = ask(method, path, headers)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert [ask("GET", path, headers).status_code for path in (READY, OPENAPI)] == [200, 200]


def test_the_token_opens() -> None:
    assert ask("GET", "/links", RIGHT).json() == {"links": []}
    assert ask("GET", "/links/none", RIGHT).status_code == 404
    assert ask("GET", "/commands/none", RIGHT).status_code == 404


def test_large_bodies_and_those_of_unknown_length_are_not_read() -> None:
    move = "POST", "/links/a/promote"
    assert ask(*move, RIGHT, content=b" " * (2 << 20)).status_code == 413
    assert ask(*move, {**RIGHT, "Transfer-Encoding": "chunked"}).status_code == 411


@pytest.mark.parametrize(
    "wanted",
    [
        {"topics": []},
        {"topics": ["a"], "more": 1},
        {"topics": ["a,b"]},
        {"topics": ["a b"]},
        {"groups": []},
        {"groups": ["a,b"]},
        {"gone": "--dry-run"},
        {"batch": "--dry-run"},
        {"dry_run": "perhaps"},
    ],
)
def test_requests_that_mean_nothing_start_nothing(wanted: Mapping[str, Any]) -> None:
    assert ask("POST", "/links/a/promote", RIGHT, json=wanted).status_code == 422
