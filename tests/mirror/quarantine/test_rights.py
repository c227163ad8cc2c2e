"""Which files set records aside, and what a plan says of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.links import link
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.mirror.quarantine.rights import findings, may_set_aside
from towpath.model.nouns import Side
from towpath.settings import LinkConfig

GLUE = {"framing": "to-glue", "glue": {"5e9a5b1e-58c2-4a53-9c75-6b9d1f1d7a10": 7}}


def config(target: str, **change: Any) -> LinkConfig:
    made = link("source:1", target, "orders").model_dump(mode="json", exclude_none=True)
    return LinkConfig.model_validate({**made, "changes": [{"topics": ["orders"], **change}]})


@pytest.mark.parametrize(
    ("change", "aside"),
    [
        ({"redact": ["h"]}, False),
        ({"undeliverable": "skip"}, False),
        ({"undeliverable": "quarantine"}, True),
        ({"ids": {**GLUE, "malformed": "stop"}}, False),
        ({"ids": {**GLUE, "malformed": "quarantine"}}, True),
    ],
)
def test_files_that_set_records_aside(change: dict[str, Any], aside: bool) -> None:
    assert may_set_aside(config("target:1", **change)) is aside


@pytest.mark.broker
def test_nothing_is_said_where_nothing_is_missing(target: LocalCluster) -> None:
    file = config(target.bootstrap, undeliverable="quarantine")
    with Admin(file.target, Side.TARGET) as admin:
        assert list(findings(file, admin)) == []
