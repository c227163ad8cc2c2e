"""Links that are alive are changed: their file, topics that are stopped, and their end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.copying.inside import RunInside
from tests.support.here import Here
from tests.support.kafka import Record, create_topic, end_offsets, produce, wait_until
from tests.support.links import Link, end
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def some(first: int, count: int) -> list[Record]:
    return [Record(b"k", b"%d" % i, partition=0) for i in range(first, first + count)]


@pytest.fixture
def link(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
) -> Iterator[Link]:
    made = Link(tmp_path, source, target, new_name("alive"), timeout="10s")
    yield made
    for program in made.programs:
        program.close()


def copied(link: Link, run: RunInside, topic: str, count: int) -> None:
    def is_there() -> bool:
        assert run.running, run.said
        return end(link.target, topic) >= count

    wait_until(is_there, f"{topic} is copied", 300)


class Alive:
    """A link of two topics, of which its file names the first one alone at the beginning."""

    def __init__(self, link: Link, here: Here) -> None:
        self.link, self._here = link, here
        boot = link.source.bootstrap
        self.one, self.two = (create_topic(boot, f"{link.name}.{n}") for n in ("one", "two"))
        self.file = link.file
        self._text = self.file.read_text()
        self.names("one")

    def names(self, what: str) -> None:
        """Let the file include these topics."""
        self.file.write_text(self._text.replace(f"{self.link.name}.*", f"{self.link.name}.{what}"))

    def more(self, first: int, count: int) -> None:
        for topic in (self.one, self.two):
            produce(self.link.source.bootstrap, topic, some(first, count))

    def run(self) -> RunInside:
        made = RunInside(self.file, follow=True)
        self.link.programs.append(made)
        return made

    def tell(self, *words: str, code: int = 0) -> Any:
        first, *rest = words
        more = [rest.pop(0)] if first in {"topics", "link"} else []
        ended = self._here(first, *more, str(self.file), *rest, "-o", "json")
        assert ended.code == code, ended.said
        return ended.json

    @property
    def states(self) -> dict[str, str]:
        rows = self.tell("status")["partitions"]
        return {row["topic"]: row["state"] for row in rows}


@pytest.mark.spark(long=True)
def test_a_link_is_changed_while_it_lives_and_ended_at_last(link: Link, here: Here) -> None:
    alive = Alive(link, here)
    alive.more(0, 50)
    run = alive.run()
    copied(link, run, alive.one, 50)
    _follows_its_file(alive, run)
    _rests_and_goes_on(alive, run)
    _is_not_removed_without_a_word(alive)


def _follows_its_file(alive: Alive, run: RunInside) -> None:
    """A file that cannot be used is told; one that can be is taken over by the same run."""
    alive.file.write_text("link: broken\n")
    wait_until(
        lambda: any("not taken over" in each for each in run.progress.files), "it is told", 180
    )
    alive.names("*")
    copied(alive.link, run, alive.two, 50)
    events = [each["what"] for each in alive.tell("history")["events"]]
    assert "run.changed" in events


def _rests_and_goes_on(alive: Alive, run: RunInside) -> None:
    """Neither the run that goes on nor the next one finds a stopped topic by itself."""
    options = ("--topics", alive.one)
    wait_until(lambda: {*alive.states.values()} == {"caught up"}, "the receipts", 180)
    told = alive.tell("topics", "stop", *options)
    assert [(each["topic"], each["state"]) for each in told["stopped"]] == [(alive.one, "stopped")]
    assert alive.states == {alive.one: "stopped by hand", alive.two: "caught up"}
    refused = alive.tell("failover", *options, "--dry-run", code=4)
    assert "`towpath topics start FILE" in refused["error"]["text"]
    whole = alive.tell("failover", "--dry-run", code=0)["plan"]
    assert (whole["stopped"], {each["topic"] for each in whole["partitions"]}) == (
        [alive.one],
        {alive.two},
    )
    refused = alive.tell("link", "rm", "--yes", "--release", code=3)
    assert "a run of the link lives" in refused["refusals"][0]
    run.stop()

    alive.more(50, 10)
    again = alive.run()
    copied(alive.link, again, alive.two, 60)
    assert end_offsets(alive.link.target.bootstrap, alive.one)[1] == 50
    assert alive.tell("topics", "start", *options)["stopped"] == []
    copied(alive.link, again, alive.one, 60)
    again.stop()


def _is_not_removed_without_a_word(alive: Alive) -> None:
    """What it owns is named first; then its books go, and its name is not used again."""
    told = alive.tell("link", "rm", "--dry-run", code=3)
    assert alive.tell("link", "rm", "--dry-run", "--release")["topics"] == told["topics"]
    assert [(each["topic"], each["records"], each["owned"]) for each in told["topics"]] == [
        (alive.one, 60, True),
        (alive.two, 60, True),
    ]
    assert alive.tell("link", "rm", "--yes", code=3)["done"] is False, "it asks for --release"
    done = alive.tell("link", "rm", "--yes", "--release")
    assert (done["done"], done["entries"] > 4) == (True, True)
    assert [each["state"] for each in alive.tell("status")["states"]] == ["removed"]
    assert alive.tell("link", "rm", "--yes")["over"]
    again = alive.run()
    wait_until(lambda: not again.running, "a run is refused", 180)
    assert "give the file another `link` name" in again.said
    assert "give the file another `link` name" in str(alive.tell("plan", code=4)["problems"])
    assert end_offsets(alive.link.target.bootstrap, alive.one)[1] == 60, "the topics stay"
