"""What a reader does whose source log was cut below what it has read, on real brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.elections import Elections
from tests.support.copying.collector import collecting
from tests.support.kafka import Record, consume, produce
from towpath.model.reasons import ReasonCode

pytestmark = [
    pytest.mark.broker,
    pytest.mark.soak,
    pytest.mark.alone,
    pytest.mark.timeout(600),
]
NewName = Callable[[str], str]


@pytest.fixture
def elections(three: SharedCluster, new_name: NewName) -> Iterator[Elections]:
    made = Elections(three, new_name("cuts"))
    yield made
    made.close()


def write(elections: Elections, first: int, end: int, tag: str) -> None:
    """Write records in batches of ten."""
    for at in range(first, end, 10):
        records = [Record(b"k", b"%d%s" % (n, tag.encode())) for n in range(at, min(end, at + 10))]
        produce(elections.cluster.bootstrap, elections.topic, records)


def test_a_new_leader_that_was_behind(elections: Elections) -> None:
    """Its log ended before what was read, so reading goes on at its end."""
    cluster, topic = elections.cluster, elections.topic
    with collecting(cluster.addresses) as made:
        write(elections, 0, 50, "")
        elections.lead_alone()
        write(elections, 50, 120, "-lost")
        reader = made.collector(topic)
        made.until(lambda: len(reader.stored) == 120, "all is read")
        assert elections.switch() == 50
        write(elections, 50, 200, "-new")
        made.until(lambda: len(reader.stored) == 270, "it goes on at the cut")
        [(first, end, why, went_on)] = made.gaps
        assert (first, end, why.code, went_on) == (50, 120, ReasonCode.SOURCE_CUT, True)
        assert [offset for offset, _ in reader.stored[120:]] == [*range(50, 200)]


@pytest.mark.parametrize("stop_on_gap", [False, True])
def test_a_new_leader_whose_own_log_is_longer(elections: Elections, stop_on_gap: bool) -> None:
    """The epochs only tell that they differ from where the epoch began that it does not know."""
    cluster, topic = elections.cluster, elections.topic
    write(elections, 0, 100, "")
    elections.lead_alone()
    write(elections, 100, 300, "-first")
    assert elections.switch() == 100
    write(elections, 100, 150, "-second")
    with collecting(cluster.addresses, stop_on_gap=stop_on_gap) as made:
        reader = made.collector(topic)
        made.until(lambda: len(reader.stored) == 150, "all is read")
        assert elections.switch() == 300
        if stop_on_gap:
            made.until(lambda: reader.stopped, "it stops")
            assert reader.trouble is not None
            assert set(reader.trouble.codes) == {ReasonCode.GAP, ReasonCode.SOURCE_CUT}
        else:
            made.until(lambda: len(reader.stored) == 350, "it goes on where the logs differ")
            there = consume(cluster.bootstrap, topic)
            assert reader.stored[150:] == [(each.offset, each.value) for each in there[100:]]
        [(first, end, why, went_on)] = made.gaps
        assert (first, end, went_on) == (100, 150, not stop_on_gap)
        assert why.code is ReasonCode.SOURCE_CUT
