"""Contexts of a schema registry: which are brought over, and under which names."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from towpath.model.errors import ConfigError
from towpath.settings import SchemasConfig


def config(**more: Any) -> SchemasConfig:
    sides = {"source": {"url": "http://s"}, "target": {"url": "http://t"}}
    return SchemasConfig.model_validate({**sides, **more})


@pytest.mark.parametrize(
    ("contexts", "context", "target"),
    [
        ({}, ".eu", ".eu"),
        ({}, ".", "."),
        ({"eu": "us"}, ".eu", ".us"),
        ({".eu": ".us"}, ".eu", ".us"),
        ({"eu": "us"}, ".", None),
        ({".": "old"}, ".", ".old"),
        ({".": "old"}, ".a", None),
        ({"eu": "."}, ".eu", "."),
        ({"team-(.*)": "eu-{1}", ".*": "skip"}, ".team-a", ".eu-a"),
        ({"team-(.*)": "eu-{1}", ".*": "skip"}, ".", None),
        ({".*": "old.{context}"}, ".eu", ".old.eu"),
        ({"eu": ".skip"}, ".eu", ".skip"),
    ],
)
def test_the_first_rule_that_matches_counts(
    contexts: dict[str, str], context: str, target: str | None
) -> None:
    assert config(contexts=contexts).target_context(context) == target


def test_names_and_patterns_are_about_the_name_in_its_context() -> None:
    made = config(
        include=["shop.*", r":\.lab:.*"],
        exclude=[r":\.eu:shop-secret"],
        contexts={"eu": "west", "lab": "lab", ".": "."},
        rename="new.{subject}",
    )
    assert made.target_name(":.eu:shop-a") == ":.west:new.shop-a"
    assert made.target_name("shop-a") == "new.shop-a"
    assert made.target_name(":.lab:other") == ":.lab:new.other"
    wanted = ("shop-secret", ":.eu:shop-a", ":.lab:x", ":.eu:shop-secret", ":.eu:x", ":.us:shop-a")
    assert list(map(made.matches, wanted)) == [True, True, True, False, False, False]
    with pytest.raises(ConfigError, match=r"its context \.us is not brought over"):
        made.target_name(":.us:shop-a")


def test_rules_without_a_name_are_refused() -> None:
    for contexts in ({"a": "b/c"}, {"a": "{2}"}, {"(": "a"}, {"a": ""}):
        with pytest.raises(ValidationError):
            config(contexts=contexts)
    # What a group brings is known only when the contexts are.
    with pytest.raises(ConfigError, match="is not the name of a context"):
        config(contexts={"(.*)": "x{1}/y"}).target_context(".a")


def test_one_registry_may_be_source_and_target_of_other_contexts() -> None:
    one = {"url": "http://s"}
    with pytest.raises(ValidationError, match="one registry"):
        config(source=one, target=one)
    assert config(source=one, target=one, contexts={".": "copy"}).target_name("a") == ":.copy:a"


def test_apicurio_is_asked_at_its_interface_of_confluents() -> None:
    with pytest.raises(ValidationError, match="/apis/ccompat/v7"):
        config(target={"url": "http://t:8080", "kind": "apicurio"})
    config(target={"url": "http://t:8080/apis/ccompat/v7", "kind": "apicurio"})
