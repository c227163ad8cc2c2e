"""Links that would copy the mirror topics of others back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.copying.chaos import delete_topic
from tests.support.kafka import create_topic
from tests.support.ledger.books import TP, opened
from tests.support.links import link
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import DefinedChange, LinkIdentity, ReadEntry
from towpath.ledger.link import open_link
from towpath.ledger.origins import _found
from towpath.mirror.plan.link_plan import build
from towpath.mirror.run.rounds import RoundPlan, plan_round
from towpath.model.changes import AddedHeader, HeaderContent, RecordChange
from towpath.model.nouns import ClusterId, LinkName, TopicName, TopicPartition
from towpath.plan.model import Plan
from towpath.records.session import LinkSession
from towpath.settings import LinkConfig
from towpath.settings.sections.changes import ChangesConfig
from towpath.topics.circles import _Circles
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.told_apart import marks, provenances

pytestmark = pytest.mark.broker


@dataclass
class There:
    """A link that has copied one topic, and what goes back from its target."""

    mirror: Mirror

    @property
    def name(self) -> TopicName:
        return TopicName(self.mirror.topic)

    def back(self, rename: str = "{topic}", start: str = "earliest") -> LinkConfig:
        clusters = self.mirror.target.bootstrap, self.mirror.source.bootstrap
        made = link(*clusters, self.mirror.topic, rename=rename, records={"start": start})
        return made.model_copy(update={"link": LinkName(f"{self.name}-back")})


@pytest.fixture
def there(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> There:
    mirror = Mirror(tmp_path, source, target, new_name("there"))
    mirror.create()
    with open_link(mirror.config) as link_there:
        link_there.prepare()
    mirror.catch_up()
    return There(mirror)


def about(plan: Plan, name: str) -> tuple[list[str], list[str]]:
    return (
        [problem.text for problem in plan.problems if problem.about == name],
        [note.text for note in plan.notes if note.about == name],
    )


def test_what_a_running_link_copies_is_not_copied_back(there: There) -> None:
    with open_link(there.mirror.config) as mirror, open_link(there.back()) as back:
        back.prepare()
        session = LinkSession(mirror.name, mirror.where, mirror.target)
        session.start()
        try:
            plan = build(there.back())
            slices = plan_round(RoundPlan(there.back(), "test", 1, once=True), 1)
            elsewhere = build(there.back("b.{topic}"))
        finally:
            session.close()
    (text,) = about(plan, there.name)[0]
    copied = f"is itself a mirror topic, which link {there.name} makes of cluster"
    assert f"{copied} {there.mirror.source.cluster_id}; copied back" in text
    assert (plan.topics, plan.exit_code, slices) == ({}, 3, [])
    assert elsewhere.topics == {there.name: f"b.{there.name}"}
    problems, notes = about(elsewhere, there.name)
    assert not problems
    assert any(copied in text and "under their first name" in text for text in notes)


def test_of_what_a_link_copied_that_is_over_only_what_is_new_can_go_back(there: There) -> None:
    whole, new = build(there.back()), build(there.back(start="latest"))
    (text,) = about(whole, there.name)[0]
    assert "each record would exist twice" in text
    problems, notes = about(new, there.name)
    assert (whole.topics, new.topics, problems) == ({}, {there.name: there.name}, [])
    assert any("that link does not run now" in text for text in notes)


def test_a_topic_that_was_made_again_is_no_copy(there: There) -> None:
    target = there.mirror.target.bootstrap
    delete_topic(target, there.name)
    create_topic(target, there.name)
    _, problems = about(build(there.back()), there.name)
    assert not any("is itself a mirror topic" in text for text in problems)


def twin_of(config: LinkConfig, twin: str) -> LinkConfig:
    topics = config.topics.model_copy(update={"twin": LinkName(twin)})
    return config.model_copy(update={"topics": topics})


def test_links_that_name_each_other_may_run_at_once(there: There) -> None:
    """One that names nobody, or another link, would copy back what the other one copies."""
    back = twin_of(there.back(), there.name)
    (text,) = about(build(back), there.name)[0]
    assert f"its file has no `topics.twin`; set `topics.twin: {back.link}` in the file" in text
    for named in ("somebody", back.link):
        with open_link(twin_of(there.mirror.config, named)) as mirror:
            mirror.prepare()
            session = LinkSession(mirror.name, mirror.where, mirror.target)
            session.start()
            try:
                plan, third = build(back), build(twin_of(there.back(), "third"))
            finally:
                session.close()
        problems, notes = about(plan, there.name)
        assert "runs and is not the twin of this one, which is third" in "".join(
            about(third, there.name)[0]
        )
        if named == back.link:
            assert (problems, plan.topics) == ([], {there.name: there.name})
            assert any("so what came from there is left out" in text for text in notes)
        else:
            assert "its file has `topics.twin: somebody`" in problems[0]


def test_a_topic_that_links_bring_from_several_clusters_is_a_circle_for_each() -> None:
    """The last opening is that of a third cluster, as in a star."""
    found = dict(
        _found(
            entry
            for name, cluster in (("a", "A"), ("c", "C"))
            for entry in (
                LinkIdentity(LinkName(name), ClusterId(cluster), ClusterId("B")),
                opened(link=LinkName(name)),
            )
        )
    )
    (origin,) = found.values()
    assert [origin.of(ClusterId(each), origin.topic).link for each in "ABC"] == ["a", "c", "c"]


HEADER, OTHER = "redpanda-migrator-provenance", "from"
CONTENTS = (HeaderContent.REDPANDA_PROVENANCE, HeaderContent.CLUSTER, HeaderContent.CHAIN)


def test_only_a_rule_without_further_conditions_tells_records_apart() -> None:
    rule = {"provenance": OTHER}
    template = {"name": "n", "template": '${! @kafka_topic.split("-").index(1) }'}
    sections: tuple[dict[str, Any], ...] = (
        {"topics": ["plain"], "drop": [rule]},
        {"topics": ["more"], "drop": [{**rule, "tombstones": True}, {"key": {"equals": ["a"]}}]},
        {"topics": ["unnamed"], "drop": [rule], "headers": [template]},
    )
    changes = tuple(ChangesConfig.model_validate(each) for each in sections)
    config = link("a:1", "b:1", ".*").model_copy(update={"changes": changes})
    found = [provenances(config, TopicName(each["topics"][0])) for each in sections]
    assert found == [{OTHER}, set(), set()]


@pytest.mark.parametrize("content", HeaderContent)
def test_a_link_marks_records_if_it_always_wrote_where_they_come_from(
    content: HeaderContent,
) -> None:
    made = RecordChange(headers=(AddedHeader(name=OTHER, content=content),))
    name = LinkName("l")

    def books(*digests: str, known: bool = True) -> LinkBooks:
        books = LinkBooks(name)
        entries = [
            opened(TopicPartition(TP.topic, n), change=each) for n, each in enumerate(digests)
        ]
        if known:
            books.take(DefinedChange(link=name, digest=made.digest, change=made))
        for entry in entries:
            books.take(entry)
        return books

    marked = content in CONTENTS
    assert marks(books(made.digest), TP.topic, {HEADER, OTHER}) is marked
    assert not marks(books(made.digest), TP.topic, {HEADER})
    assert not marks(books(made.digest), TopicName("another"), {OTHER})
    assert not marks(books(made.digest, ""), TP.topic, {OTHER}), "some were copied as they are"
    assert not marks(books(made.digest, known=False), TP.topic, {OTHER})


def judged(config: LinkConfig, *brought: tuple[str, str, HeaderContent]) -> _Circles:
    """Return what is said of a topic of B that goes to A; links bring it, each with a header."""
    entries: list[ReadEntry] = []
    for cluster, header, content in brought:
        name = LinkName(f"from-{cluster}")
        made = RecordChange(headers=(AddedHeader(name=header, content=content),))
        entries += [
            LinkIdentity(name, ClusterId(cluster), ClusterId("B")),
            DefinedChange(link=name, digest=made.digest, change=made),
            opened(link=name, change=made.digest),
        ]
    ((_, topic_id), origin) = next(iter(dict(_found(entries)).items()))
    topic = Topic(TP.topic, topic_id, 1, 1)
    seen = ObservedTopics(
        source=(topic,), names={topic.name: topic.name}, target={}, brokers=1, known=frozenset()
    )
    circles = _Circles(seen, config, ClusterId("A"), LinkBooks(config.link))
    circles.judge(topic, replace(origin, runs=True))
    return circles


def told_apart_by(*changes: dict[str, Any]) -> LinkConfig:
    made = tuple(ChangesConfig.model_validate({"topics": [".*"], **each}) for each in changes)
    return link("b:1", "a:1", ".*").model_copy(update={"changes": made})


BY_PROVENANCE = told_apart_by({"drop": [{"provenance": HEADER}], "redpanda": {}})
BY_CHAIN = told_apart_by(
    {"drop": [{"provenance": OTHER}], "headers": [{"name": OTHER, "of": "chain"}]}
)
THERE = "A", HEADER, HeaderContent.REDPANDA_PROVENANCE
AGAIN = "are left out by neither link, and would be copied again and again"


def test_a_header_that_names_the_first_cluster_alone_is_told_to_stop_no_third_one() -> None:
    said = judged(BY_PROVENANCE, THERE)
    assert not said.problems
    assert any(AGAIN in note.text and "of: chain" in note.text for note in said.notes)
    chain = judged(BY_CHAIN, ("A", OTHER, HeaderContent.CHAIN))
    assert (chain.problems, len(chain.notes)) == ([], 1)
    assert not any(AGAIN in note.text for note in chain.notes)


def test_records_that_a_third_cluster_is_known_to_bring_are_not_copied_in_a_circle() -> None:
    for third in (
        ("C", HEADER, HeaderContent.REDPANDA_PROVENANCE),
        ("C", HEADER, HeaderContent.CHAIN),
    ):
        for brought in ((THERE, third), (third, THERE)):
            (problem,) = judged(BY_PROVENANCE, *brought).problems
            assert "link from-C brings records of cluster C to it" in problem.text
            assert AGAIN in problem.text
    other = judged(BY_PROVENANCE, THERE, ("C", OTHER, HeaderContent.CLUSTER))
    assert not other.problems, "they have no such header, so this link names its source in it"
    chains = ("A", OTHER, HeaderContent.CHAIN), ("C", OTHER, HeaderContent.CHAIN)
    assert not judged(BY_CHAIN, *chains).problems
