"""A promotion is asked for where no gateway ever began."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.soak]


def test_a_target_without_a_ledger_is_named(
    source: SharedCluster, tmp_path: Path, here: Here
) -> None:
    with LocalCluster(home=tmp_path / "empty") as empty:
        file = tmp_path / "link.yaml"
        file.write_text(
            f"source: {{bootstrap: '{source.bootstrap}'}}\n"
            f"target: {{bootstrap: '{empty.bootstrap}'}}\n"
            "link: none\ntopics: {include: ['none']}\ngateway: {listen: '127.0.0.1:9092'}\n"
        )
        for command in ("promote", "revert"):
            done = here(command, str(file))
            assert (done.code, "the target has no ledger" in done.said) == (4, True), done.said
