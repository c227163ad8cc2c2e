"""A gateway serves no clients where its file names other clusters than its link joins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.links import Link
from towpath.gateway.link_clusters import require_clusters
from towpath.ledger.link import open_link
from towpath.model.errors import LedgerError
from towpath.settings import load

pytestmark = pytest.mark.broker


def test_source_and_target_that_were_exchanged_are_refused(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> None:
    name = new_name("exchanged")
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.mkdir()
    wrong.mkdir()
    with open_link(load(Link(right, source, target, name).file)) as link:
        require_clusters(link)  # it never ran
        link.prepare()
        require_clusters(link)
    with open_link(load(Link(wrong, target, source, name).file)) as link:
        with pytest.raises(LedgerError, match="the other way round") as caught:
            require_clusters(link)
        ids = link.target.cluster.id(), link.source.cluster.id()
    assert f"cluster {ids[0]} to {ids[1]}" in str(caught.value)
