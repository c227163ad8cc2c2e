"""How long leaders are waited for that are asked once."""

from __future__ import annotations

from towpath.cluster.admin.leaders import patience_for


def test_many_partitions_get_more_patience_up_to_the_request_timeout() -> None:
    assert patience_for(1, 2.0, 30.0) == 2.0
    assert patience_for(20_000, 2.0, 30.0) == 8.0
    assert patience_for(200_000, 2.0, 30.0) == 30.0
    assert patience_for(200_000, 2.0, 1.0) == 2.0
