"""A target whose new leader lacks records: before a failover, and between it and the failback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.groups import rest
from tests.support.clusters.elections import Elections, log_end
from tests.support.copying.quarantine import begin
from tests.support.failback_victim import back_of, turn_round
from tests.support.here import Here
from tests.support.kafka import Record, commit, consume, create_topic, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side

pytestmark = [pytest.mark.broker, pytest.mark.soak]
BOTH, LOST, MORE = 10, 5, 9


def some(word: str, number: int) -> list[Record]:
    return [Record(b"k", b"%s %d" % (word.encode(), n), timestamp=1000 + n) for n in range(number)]


def words(cluster: LocalCluster, topic: str) -> list[str]:
    return [(each.value or b"").decode() for each in consume(cluster.bootstrap, topic)]


def said(word: str, number: int) -> list[str]:
    return [(each.value or b"").decode() for each in some(word, number)]


@dataclass
class Elected:
    """A link whose target may elect leaders that lack records, with a group at its end."""

    mirror: Mirror
    led: Elections
    here: Here
    before: int = 0
    """Where the log of the other replica ends."""

    def lead_alone(self) -> None:
        self.led.lead_alone()
        self.before = log_end(self.mirror.target, self.mirror.topic)

    @property
    def file(self) -> Path:
        return self.mirror.folder / f"{self.mirror.topic}.yaml"

    @property
    def group(self) -> str:
        return f"{self.mirror.topic}-group"

    def copy(self, word: str, number: int) -> None:
        """Write records to the source, copy them, and let the group have read them."""
        boot, topic = self.mirror.source.bootstrap, self.mirror.topic
        produce(boot, topic, some(word, number))
        begin(self.mirror)
        commit(boot, self.group, topic, 0, len(words(self.mirror.source, topic)))
        assert self.here("groups", "sync", str(self.file)).code == 0

    def write(self, word: str, number: int) -> None:
        produce(self.mirror.target.bootstrap, self.mirror.topic, some(word, number))

    def failover(self, *options: str) -> Any:
        said = ""
        for _ in range(3):  # what a broker that was killed led may have no leader yet
            ended = self.here("failover", str(self.file), *options, "-o", "json")
            said = ended.said
            assert ended.code in {0, 3}, ended.said
            if "--dry-run" in options or ended.json["state"][0]["state"] == "failed_over":
                return ended.json
        raise AssertionError(said)

    def turn_round(self, wins: Side) -> None:
        """Turn the link round, and copy back."""
        self.led.join()
        assert turn_round(self.file, wins)
        mirror, name = self.mirror, back_of(self.file).stem
        back = Mirror(
            mirror.folder, mirror.target, mirror.source, mirror.topic, name, more="  shared: true\n"
        )
        assert [each.error for each in back.catch_up()] == [""]


@pytest.fixture(params=["auto", "mapped"])
def elected(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    source: LocalCluster,
    three: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> Iterator[Elected]:
    topic = new_name("elected")
    mirror = Mirror(
        tmp_path, source, three, topic,
        records={"offsets": request.param}, sections="groups: {}\n",
    )  # fmt: skip
    create_topic(source.bootstrap, topic)
    led = Elections(three, topic)
    yield Elected(mirror, led, here)
    led.close()


def test_what_an_election_took_before_the_failover_is_told_and_salvaged(elected: Elected) -> None:
    elected.copy("both", BOTH)
    elected.lead_alone()
    elected.copy("lost", LOST)
    end = elected.led.switch()
    assert end == elected.before
    plan = elected.failover("--dry-run")["plan"]
    assert plan["lost"] == LOST
    [position] = plan["positions"]
    assert (position["target"], position["ahead"]) == (end, LOST)
    done = elected.failover("--yes")
    assert (done["done"], done["after"]["lost"]) == (True, LOST)
    cut = elected.mirror.books().cut
    assert cut is not None
    assert (cut.source_end, cut.target_end) == (BOTH, end)
    elected.write("new", 2)
    mirror = elected.mirror
    assert rest(mirror.target, elected.group, mirror.topic) == [b"new 0", b"new 1"]
    elected.turn_round(Side.TARGET)
    assert words(mirror.target, f"{mirror.topic}.salvage") == said("lost", LOST)
    assert words(mirror.target, mirror.topic) == [*said("both", BOTH), *said("new", 2)]
    assert words(mirror.source, mirror.topic)[BOTH + LOST :] == said("new", 2)


@pytest.mark.parametrize("number", [2, MORE], ids=["shorter", "longer"])
def test_what_an_election_took_behind_the_failover_keeps_nothing_from_the_way_back(
    elected: Elected, number: int
) -> None:
    """The log of the target is shorter than the cut, or clients have written beyond it again."""
    elected.copy("both", BOTH)
    elected.lead_alone()
    elected.copy("lost", LOST)
    elected.failover("--yes")
    elected.write("gone", 1)
    assert elected.led.switch() == elected.before
    elected.write("new", number)
    elected.turn_round(Side.TARGET)
    mirror = elected.mirror
    assert words(mirror.target, mirror.topic) == [*said("both", BOTH), *said("new", number)]
    assert words(mirror.target, f"{mirror.topic}.salvage") == said("lost", LOST)
    assert words(mirror.source, mirror.topic)[BOTH + LOST :] == said("new", number)


def test_an_election_that_took_the_fence_alone(elected: Elected) -> None:
    elected.copy("both", BOTH)
    elected.lead_alone()
    elected.failover("--yes")
    elected.write("gone", 1)
    assert elected.led.switch() == elected.before
    elected.write("new", 3)
    elected.turn_round(Side.TARGET)
    mirror = elected.mirror
    assert words(mirror.source, mirror.topic) == [*said("both", BOTH), *said("new", 3)]
