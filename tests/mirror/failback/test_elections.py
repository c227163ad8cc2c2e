"""An old source whose new leader lacks mirrored records: they come back, its own are salvaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clusters.elections import Elections
from tests.support.copying.quarantine import begin
from tests.support.failback import cut
from tests.support.failback_victim import turn_round
from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side


def some(word: str, number: int) -> list[Record]:
    return [Record(b"k", b"%s %d" % (word.encode(), n)) for n in range(number)]


def words(cluster: LocalCluster, topic: str) -> list[str]:
    return [(each.value or b"").decode() for each in consume(cluster.bootstrap, topic)]


@pytest.mark.broker
@pytest.mark.soak
def test_what_an_unclean_election_took_from_the_source_comes_back(
    tmp_path: Path, three: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    mirror = Mirror(tmp_path, three, target, new_name("elected"))
    topic, file = mirror.topic, tmp_path / f"{mirror.topic}.yaml"
    led = Elections(three, topic)
    try:
        create_topic(target.bootstrap, topic)
        produce(three.bootstrap, topic, some("both", 10))
        led.lead_alone()
        produce(three.bootstrap, topic, some("lost", 5))
        begin(mirror)
        assert len(words(target, topic)) == 15
        assert led.switch() == 10
        produce(three.bootstrap, topic, some("tail", 8))
        cut(mirror, 1)
        produce(target.bootstrap, topic, some("new", 2))
        assert turn_round(file, Side.TARGET)
        both, lost, tail, new = (
            [(each.value or b"").decode() for each in some(word, number)]
            for word, number in (("both", 10), ("lost", 5), ("tail", 8), ("new", 2))
        )
        assert words(target, topic) == [*both, *lost, *new]
        assert words(target, f"{topic}.salvage") == tail
        back = Mirror(tmp_path, target, three, topic, f"{topic}-back", more="  shared: true\n")
        led.join()
        assert [each.error for each in back.catch_up()] == [""]
        assert words(three, topic) == [*both, *tail, *lost, *new]
    finally:
        led.close()
