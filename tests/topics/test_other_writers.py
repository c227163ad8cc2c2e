"""Copies to which other links write, too, without any cluster."""

from __future__ import annotations

from dataclasses import replace

from tests.support.links import link
from tests.support.subjects.topic_models import compare, observed, topic
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Journal, LinkStage, LinkState, Opened, Phase
from towpath.model.findings import Cause
from towpath.model.nouns import (
    LinkName,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
)
from towpath.plan.kinds import as_data
from towpath.plan.subject import Difference
from towpath.topics.other_writers import (
    beside_neighbours,
    outdated_as_over,
    without_taken,
    without_what_is_over,
)
from towpath.topics.steps import KINDS, CreateTopic, SetConfigs, TopicStep

OURS, OTHER = LinkName("ours"), LinkName("other")
NAME, ID = TopicName("orders"), TopicId("id-orders")
MADE = CreateTopic(
    source=NAME,
    target=NAME,
    partitions=1,
    replication_factor=1,
    configs={"retention.ms": "-1"},
    held={"retention.ms": "7"},
)
RELEASED = SetConfigs(
    source=NAME,
    target=NAME,
    set={"retention.ms": "7"},
    remove=(),
    before={"retention.ms": "-1"},
    owned=("retention.ms",),
    id=ID,
)


def opened(link: LinkName, number: TopicId = ID) -> Opened:
    return Opened(
        link=link,
        topic=NAME,
        partition=0,
        source_topic_id=TopicId("s"),
        target_topic=NAME,
        target_topic_id=number,
        producer_id=ProducerId(1),
        mode=Mode.IDENTICAL,
        reasons=(),
        source_start=SourceOffset(0),
        target_start=TargetOffset(0),
        run_id="r",
        at=5,
    )


def did(
    step: TopicStep, phase: Phase = Phase.DONE, number: TopicId = ID, *, owned: bool
) -> Journal:
    subject, name, do, part = KINDS.key(step)
    return Journal(
        link=OTHER,
        subject=subject,
        name=name,
        do=do,
        part=part,
        step=as_data(step),
        phase=phase,
        plan="",
        owned=owned,
        topic_id=number,
        error="",
        at=1,
    )


def found(*facts: Opened | Journal, **own: str) -> Difference[TopicStep]:
    """Compare a mirror topic that has these configs with its topic and the ledger."""
    books = LinkBooks(OURS)
    for fact in facts:
        books.take(fact)
    configs = {key.replace("_", "."): value for key, value in own.items()}
    there = topic(own={"retention.ms": "-1", **configs})
    seen = observed(topic(own={"retention.ms": "7", "segment.ms": "9"}), target=(there,))
    return beside_neighbours(compare(seen), seen, books.neighbours)


def said(result: Difference[TopicStep]) -> list[str]:
    return [
        note.text for note in result.notes if note.text.startswith(("link ", "retention.ms of"))
    ]


WRITES = "link other also writes to this mirror topic (orders)"
STAYS = (
    "retention.ms of orders stays -1, as link other holds it back until its mirror topic has caught"
    " up; it is changed after that"
)


def changed(result: Difference[TopicStep]) -> dict[str, str | None]:
    return {k: v for s in result.steps if isinstance(s, SetConfigs) for k, v in s.changes.items()}


def test_what_another_link_holds_back_stays() -> None:
    made = did(MADE, owned=True)
    result = found(made, opened(OTHER))
    assert (changed(result), said(result)) == ({"segment.ms": "9"}, [WRITES, STAYS])
    [step] = result.steps
    assert isinstance(step, SetConfigs)
    assert step.before == {"segment.ms": None}
    assert found(made, segment_ms="9").steps == ()


def test_what_it_released_or_never_held_follows_the_source() -> None:
    every = {"retention.ms": "7", "segment.ms": "9"}
    for facts in (
        (opened(OTHER),),
        (did(MADE, owned=True), did(RELEASED, owned=False)),
        (opened(OTHER), did(MADE, owned=False)),
    ):
        result = found(*facts)
        assert (changed(result), said(result)) == (every, [WRITES])
    result = found(did(MADE, owned=True), retention_ms="8")
    assert (changed(result), said(result)) == (every, [WRITES])


def test_other_topics_of_that_name_and_ourselves_are_no_neighbours() -> None:
    again = TopicId("again")
    for facts in (
        (opened(OURS),),
        (opened(OTHER, again), did(MADE, number=again, owned=True)),
        (did(MADE, Phase.BEGUN, owned=True), did(MADE, Phase.FAILED, owned=True)),
    ):
        assert said(found(*facts)) == []
    assert said(found(did(MADE, number=TopicId(""), owned=True))) == [WRITES, STAYS]


def taken(*facts: Opened | Journal, shared: bool = False) -> list[str]:
    """Return what is said against mirroring into a topic of which the ledger knows these facts."""
    books = LinkBooks(OURS)
    for fact in facts:
        books.take(fact)
    seen = observed(topic(), target=(topic(),))
    config = link("a:1", "b:1", ".*")
    config = config.model_copy(
        update={"topics": config.topics.model_copy(update={"shared": shared})}
    )
    found = without_taken(seen, config, books.neighbours)
    assert {problem.cause for problem in found.problems} <= {Cause.OTHER_LINK}
    assert compare(found).topics.keys() == {NAME} - {each.about for each in found.problems}
    return [problem.text for problem in found.problems]


def test_a_second_link_is_refused_unless_the_file_says_shared() -> None:
    for facts in ((opened(OTHER),), (did(MADE, owned=True),), (opened(OTHER), opened(OURS))):
        (text,) = taken(*facts)
        assert text == (
            "link other writes its mirror topic orders, so a second link could write the same"
            " records again; to continue that copy, set `link: other`; to make another copy,"
            " change `topics.rename`; else name the topic under `topics.exclude`, or set"
            " `topics.shared: true` if several links may write there"
        )
        assert taken(*facts, shared=True) == []


def test_the_link_that_was_there_first_goes_on() -> None:
    assert taken(opened(OURS), opened(OTHER)) == []
    assert taken(opened(OTHER, TopicId("again"))) == []
    assert taken() == []


def test_topics_that_failed_over_are_left_to_their_clients() -> None:
    """Nothing is set, grown or deleted there, whatever becomes of the source topic."""
    other = replace(RELEASED, source=TopicName("users"), target=TopicName("users"))
    wanted: Difference[TopicStep] = Difference(steps=(RELEASED, other))
    books = LinkBooks(OURS)
    assert without_what_is_over(wanted, books) == wanted
    books.take(
        LinkState(
            link=OURS, topic=NAME, state=LinkStage.FAILED_OVER, since=1, user="u", host="h",
            version="1",
        )
    )  # fmt: skip
    books.take(
        LinkState(
            link=OURS, topic=TopicName("users"), state=LinkStage.STOPPED, since=1, user="u",
            host="h", version="1",
        )
    )  # fmt: skip
    both = without_what_is_over(wanted, books)
    assert both.steps == ()
    saved = outdated_as_over(RELEASED, books)
    assert saved is not None
    assert "it should have the state running and has the state failed over" in str(saved)
    assert KINDS.of(RELEASED).reviewed(RELEASED), "a plan that was saved before asks for that"
    assert KINDS.of(MADE).reviewed(MADE)
    assert (
        str(both.notes[1]) == "topics: 1 step left out on topics that were stopped by hand: users"
    )
    books.states.pop(TopicName("users"))
    found = without_what_is_over(wanted, books)
    assert found.steps == (other,)
    assert outdated_as_over(other, books) is None
    [note] = found.notes
    assert str(note) == (
        "topics: 1 step left out on topics that failed over, which are their clients' now: orders"
    )
