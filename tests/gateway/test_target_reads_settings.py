"""What a file must say where clients read from the target."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from towpath.gateway.config_section import gateway_section
from towpath.model.errors import ConfigError
from towpath.settings import LinkConfig

SASL = {"mechanism": "PLAIN", "username": "u", "password": "env:HOME"}


def config(
    gateway: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **more: Any
) -> LinkConfig:
    section = {"listen": "127.0.0.1:9092", "reads": "target", **(gateway or {})}
    return LinkConfig.model_validate(
        {
            "source": {"bootstrap": "old:9092", **(cluster or {})},
            "target": {"bootstrap": "new:9092"},
            "link": "l",
            "topics": {"include": ["a.*"]},
            "gateway": section,
            **more,
        }
    )


def test_clients_may_read_from_the_target() -> None:
    assert gateway_section(config()).reads_target


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"cluster": {"sasl": SASL}}, r"a login \(`source.sasl`\) is good for one"),
        ({"topics": {"include": ["a.*"], "rename": "x.{topic}"}}, "gives topics other names"),
        ({"groups": {"rename": "x.{group}"}}, "gives groups other names"),
    ],
)
def test_what_clients_could_not_use_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        gateway_section(config(**more))


def test_adopted_clients_read_at_the_source() -> None:
    with pytest.raises(ValidationError, match="exclude each other"):
        config({"adopt": True, "nodes": {1: "old-1:9092"}})
