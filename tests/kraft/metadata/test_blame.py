"""An address that does not resolve is blamed on the place in the file that names it."""

from __future__ import annotations

import pytest

from towpath.cluster.connect.connection import UnresolvedError
from towpath.kraft.metadata.answers import ask_node
from towpath.kraft.metadata.controllers import SIDE
from towpath.runtime.deadline import Deadline
from towpath.settings.sections.clusters import ClusterConfig

_HOST = "no-such-host.invalid:9093"


@pytest.mark.parametrize(
    ("side", "place"), [(SIDE, "controllers.nodes"), ("cluster", "cluster.bootstrap")]
)
def test_a_name_is_corrected_where_the_file_has_it(side: str, place: str) -> None:
    with pytest.raises(UnresolvedError, match=f"correct it in `{place}`"):
        ask_node(_HOST, ClusterConfig(bootstrap=(_HOST,)), Deadline.after(5), side)
