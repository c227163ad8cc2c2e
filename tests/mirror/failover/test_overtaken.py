"""Two people, or two attempts, at one failover or failback: what one has done holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archive.victims import victim
from tests.support.copying.quarantine import begin
from tests.support.failback_victim import back_of, fail_over, turn_round
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.mirror.failback.failback import failback
from towpath.mirror.failback.request import FailbackRequest
from towpath.mirror.failover.failover import failover
from towpath.mirror.failover.request import FailoverRequest
from towpath.mirror.failover.state_before_failover import FailoverScope
from towpath.model.errors import LedgerError
from towpath.model.nouns import Side, TopicName

pytestmark = pytest.mark.broker


def some(word: str, number: int) -> list[Record]:
    return [Record(b"k", b"%s %d" % (word.encode(), n), partition=0) for n in range(number)]


def values(cluster: LocalCluster, topic: str) -> list[bytes | None]:
    return [each.value for each in consume(cluster.bootstrap, topic)]


@pytest.fixture
def mirror(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> Mirror:
    """Return a link of two topics that has copied ten records of each."""
    name = new_name("overtaken")
    made = Mirror(tmp_path, source, target, f"{name}[.].*", name)
    for topic in topics(made):
        for cluster in (source, target):
            create_topic(cluster.bootstrap, topic)
        produce(source.bootstrap, topic, some("both", 10))
    begin(made)
    return made


def topics(mirror: Mirror) -> tuple[str, str]:
    return f"{mirror.link}.one", f"{mirror.link}.two"


def file_of(mirror: Mirror) -> Path:
    return mirror.folder / f"{mirror.config.link}.yaml"


def state(mirror: Mirror, topic: str = "") -> tuple[str, int]:
    found = mirror.link_books().states[TopicName(topic)]
    return found.state, found.attempt


@pytest.mark.parametrize("one_topic", [False, True], ids=["whole", "a topic"])
def test_who_agrees_to_an_old_rehearsal_changes_nothing(mirror: Mirror, one_topic: bool) -> None:
    """The question stood open while somebody else failed over, and clients came."""
    one, _ = topics(mirror)
    scope = FailoverScope(topics=(TopicName(one),) if one_topic else ())

    def agreed(_: object) -> bool:
        asked = FailoverRequest(scope=scope, agreed=lambda _: True)
        assert failover(mirror.config, asked).done
        produce(mirror.target.bootstrap, one, some("new", 3))
        return True

    with pytest.raises(LedgerError, match=r"is failed over since .* another command moved it"):
        failover(mirror.config, FailoverRequest(scope=scope, agreed=agreed))
    assert state(mirror, one if one_topic else "") == ("failed_over", 1)
    assert values(mirror.target, one)[10:] == [each.value for each in some("new", 3)]


@pytest.mark.soak
def test_who_agrees_to_an_old_failback_changes_nothing(mirror: Mirror) -> None:
    """What the link back has copied meanwhile does not count as the old source's own."""
    one, two = topics(mirror)
    file = file_of(mirror)
    produce(mirror.source.bootstrap, one, some("tail", 2))
    assert fail_over(file)
    for topic in (one, two):
        produce(mirror.target.bootstrap, topic, some("new", 3))

    def agreed(_: object) -> bool:
        assert turn_round(file, Side.TARGET)
        name = back_of(file).stem
        back = Mirror(
            mirror.folder, mirror.target, mirror.source, mirror.topic, name, more="  shared: true\n"
        )
        assert [each.error for each in back.catch_up()] == ["", ""]
        return True

    asked = FailbackRequest(file=file, to=back_of(file), wins=Side.TARGET, agreed=agreed)
    with pytest.raises(LedgerError, match=r"is reversed since .* another command moved it"):
        failback(mirror.config, asked)
    assert state(mirror)[0] == "reversed"
    assert values(mirror.target, f"{one}.salvage") == [each.value for each in some("tail", 2)]


@pytest.mark.soak
def test_a_failover_of_the_whole_link_ends_that_of_a_topic_which_was_killed(
    mirror: Mirror, here: Here
) -> None:
    one, two = topics(mirror)
    killed = victim("tests.support.failover_victim", file_of(mirror), 5, one)
    assert killed.returncode == -9, f"{killed.stdout}{killed.stderr}"
    assert state(mirror, one) == ("sealed", 1)
    whole = here("failover", str(file_of(mirror)), "--yes", "-o", "json")
    assert (whole.code, whole.json["fenced"]) == (0, 2), whole.said
    assert (state(mirror), state(mirror, one)) == (("failed_over", 1), ("failed_over", 1))
    for topic in (one, two):
        produce(mirror.target.bootstrap, topic, some("new", 3))
    assert turn_round(file_of(mirror), Side.TARGET)
