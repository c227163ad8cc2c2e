"""Registries in the file: their addresses and logins."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from towpath.settings import RegistryConfig, SchemasConfig


@pytest.mark.parametrize(
    "url",
    [
        "ann:hunter22@registry:8081",
        "http://ann:hunter22@registry:8081",
        "//ann:hunter22@registry",
        "https:/ann:hunter22@registry",
        "http://ann:hunter22@registry:80x81",
        "http://registry:8081?token=hunter22",
        "registry?token=hunter22",
        "http://registry:8081/#hunter22",
        "ftp://hunter22@registry",
    ],
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(url: str) -> None:
    oauth = {"token_url": url, "client_id": "me", "client_secret": "env:PATH"}
    for config in ({"url": url}, {"url": [url]}, {"url": "http://r", "oauth": oauth}):
        with pytest.raises(ValidationError) as caught:
            RegistryConfig.model_validate(config)
        told = "; ".join(error["msg"] for error in caught.value.errors())
        assert "has a login in it" in told or "has a part behind ? or #" in told
        assert "hunter22" not in told


@pytest.mark.parametrize("word", ["two words", "two\nlines", "end\r", "wört", " first"])
def test_a_token_that_no_header_takes_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv("TOKEN", word)
    with pytest.raises(ValidationError, match="is no token") as caught:
        RegistryConfig.model_validate({"url": "http://r", "token": "env:TOKEN"})
    assert word not in str(caught.value)


def test_a_name_with_a_colon_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", "hunter22")
    login = {"username": "ann:b", "password": "env:WORD"}
    with pytest.raises(ValidationError, match="must have no colon"):
        RegistryConfig.model_validate({"url": "http://r", "basic": login})


@pytest.mark.parametrize(
    ("source", "target", "is_one"),
    [
        ("http://r:8081", "http://R:8081/", True),
        ("http://r", "http://r:80", True),
        ("https://r", "https://a,https://r:443", True),
        ("http://r/a", "http://r/b", False),
        ("http://r", "https://r", False),
    ],
)
def test_one_registry_is_recognised_however_its_address_is_written(
    source: str, target: str, *, is_one: bool
) -> None:
    sides: dict[str, Any] = {"source": {"url": source}, "target": {"url": target}}
    assert (
        SchemasConfig.model_validate({**sides, "rename": "a.{subject}"}).is_one_registry == is_one
    )
    if is_one:
        with pytest.raises(ValidationError, match="are one registry"):
            SchemasConfig.model_validate(sides)
