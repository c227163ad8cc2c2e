"""Links in the direction opposite to that of a link whose records go through a query."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cutovers import NOW
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.transformed_link import QUERY, T0, TransformedLink
from towpath.dev.broker import LocalCluster
from towpath.ledger.link import open_link
from towpath.records.session import LinkSession
from towpath.settings import load

pytestmark = [pytest.mark.broker, pytest.mark.spark]
KEEP = {"sql": "select key, value, headers, timestamp, partition from records"}


@pytest.fixture
def link(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> TransformedLink:
    made = TransformedLink(source, target, new_name("round"), tmp_path)
    create_topic(source.bootstrap, made.topic, 2)
    made.produced(range(20))
    return made


def back(link: TransformedLink, name: str, **sections: Any) -> str:
    """Write the file of a link back."""
    path = link.folder / f"{name}.yaml"
    content = {
        "source": {"bootstrap": link.target.bootstrap},
        "target": {"bootstrap": link.source.bootstrap},
        "link": f"{link.topic}-{name}",
        "topics": {"include": [link.topic]},
        **sections,
    }
    path.write_text(json.dumps(content))
    return str(path)


def values(cluster: LocalCluster, topic: str) -> Counter[bytes]:
    return Counter(each.value or b"" for each in consume(cluster.bootstrap, topic, range(2)))


def own(cluster: LocalCluster, topic: str, *numbers: int) -> None:
    records = [Record(b"k", b"own%d" % n, (), T0, partition=n % 2) for n in numbers]
    produce(cluster.bootstrap, topic, records)


def said_of(here: Here, path: str) -> tuple[int, str]:
    """Return the exit code of a plan, and all that it says."""
    plan = here("plan", path)
    return plan.code, " ".join(plan.said.split())


@pytest.mark.spark(long=True)
def test_what_a_query_made_is_not_copied_back_and_what_clients_wrote_is_once(
    link: TransformedLink, here: Here
) -> None:
    file = link.write({"sql": QUERY}, topics={"rename": "{topic}"})
    assert here.run(str(file), "--until-caught-up").code == 0
    path = back(link, "back")
    with open_link(load(file, transforms=True)) as there:
        there.read()
        session = LinkSession(there.name, there.where, there.target)
        session.start()
        code, said = said_of(here, path)
        session.close()
    circle = "copied back under its first name, each record would be copied again"
    assert (code, circle in said) == (3, True), said
    code, said = said_of(here, path)
    assert (code, "each record would exist twice; cut over that link first" in said) == (3, True)
    assert here("cutover", str(file), *NOW).code == 0
    own(link.target, link.topic, 1, 2, 3)
    code, said = said_of(here, path)
    assert (code, "copied back from the cutover of" in said) == (0, True), said
    before = values(link.source, link.topic)
    run = here.run(path, "--until-caught-up")
    assert run.code == 0, run.said
    assert values(link.source, link.topic) - before == Counter([b"own1", b"own2", b"own3"])
    # The first link would send these through its query again, to where they came from.
    code, said = said_of(here, str(file))
    assert (code, "is itself a mirror topic, which link" in said) == (3, True), said


@pytest.mark.soak
def test_a_link_back_with_a_query_begins_at_the_cut_too(link: TransformedLink, here: Here) -> None:
    file = link.write(None, topics={"rename": "{topic}"})
    assert here.run(str(file), "--until-caught-up").code == 0
    assert here("cutover", str(file), *NOW).code == 0
    own(link.target, link.topic, 4, 5)
    path = back(link, "query", transform=KEEP)
    code, said = said_of(here, path)
    assert (code, "copied back from the cutover of" in said) == (0, True), said
    before = values(link.source, link.topic)
    run = here.run(path, "--until-caught-up")
    assert run.code == 0, run.said
    assert values(link.source, link.topic) - before == Counter([b"own4", b"own5"])


@pytest.mark.soak
def test_what_the_link_wrote_since_lies_among_what_clients_wrote(
    link: TransformedLink, here: Here
) -> None:
    file = link.write({"sql": QUERY}, topics={"rename": "{topic}"})
    for numbers in (range(20, 30), range(30, 40)):  # producers went back to the source
        link.produced(numbers)
        assert here("cutover", str(file), *NOW).code in {0, 3}
        own(link.target, link.topic, *numbers)
    code, said = said_of(here, back(link, "back"))
    assert (code, "these lie among those of the clients" in said) == (3, True), said
