"""What the journal says is ours, without any cluster."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.subjects.topic_models import compare, observed, topic
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Journal, Phase
from towpath.model.nouns import NO_TOPIC_ID, LinkName, TopicId, TopicName
from towpath.plan.kinds import as_data
from towpath.topics.owned import OwnedTopics, UncertainChange, ours_of
from towpath.topics.steps import KINDS, CreateTopic, DeleteTopic, SetConfigs, TopicStep

LINK, NAME = LinkName("link"), TopicName("orders")
ONE, OTHER = TopicId("one"), TopicId("other")
CREATE = CreateTopic(
    source=NAME,
    target=NAME,
    partitions=1,
    replication_factor=1,
    configs={"retention.ms": "-1", "segment.ms": "5"},
    held={"retention.ms": "7"},
)
CHANGE = SetConfigs(
    source=NAME, target=NAME, set={"flush.ms": "5"}, remove=(), before={"flush.ms": None}, id=ONE
)


def journal(
    step: TopicStep, data: dict[str, Any], phase: Phase, topic_id: TopicId, at: int, *, owned: bool
) -> Journal:
    subject, name, do, part = KINDS.key(step)
    return Journal(
        link=LINK,
        subject=subject,
        name=name,
        do=do,
        part=part,
        step=data,
        phase=phase,
        plan="",
        owned=owned,
        topic_id=topic_id,
        error="",
        at=at,
    )


class Books:
    """The books of a link, as its journal fills them."""

    def __init__(self) -> None:
        self.books = LinkBooks(LINK)
        self._clock = count(1000, -1)

    def wrote(
        self,
        step: TopicStep,
        id_: TopicId = NO_TOPIC_ID,
        phase: Phase = Phase.DONE,
        *,
        owned: bool = True,
    ) -> Books:
        """Take in an entry; the clock goes backwards, as those of two machines may differ."""
        entry = journal(step, as_data(step), phase, id_, next(self._clock), owned=owned)
        self.books.take(entry)
        return self

    def ours(self, now: TopicId | None) -> OwnedTopics:
        """Return what is ours of a target that tells this id of the topic, if there is one."""
        return ours_of(self.books, {} if now is None else {NAME: now})


def test_a_topic_that_is_still_the_same_is_ours() -> None:
    found = Books().wrote(CREATE, ONE).ours(ONE)
    assert found == OwnedTopics.of([CREATE])
    for now in (OTHER, None):
        assert Books().wrote(CREATE, ONE).ours(now) == OwnedTopics()
    assert Books().wrote(CREATE, ONE, owned=False).ours(ONE) == OwnedTopics()
    assert Books().wrote(CREATE, ONE, Phase.FAILED).ours(ONE) == OwnedTopics()


@pytest.mark.parametrize(("then", "now"), [("", ""), ("", "one"), ("one", "")])
def test_where_a_target_tells_no_ids_names_count(then: str, now: str) -> None:
    """Before Kafka 2.8 there were none, and a cluster may have been upgraded since."""
    books = Books().wrote(CREATE, TopicId(then)).wrote(CHANGE, TopicId(then))
    found = books.ours(TopicId(now))
    assert found.held == {NAME: {"retention.ms": "7"}}
    assert found.set_keys == {NAME: {"retention.ms", "segment.ms", "flush.ms"}}
    assert (found.created, found.unsure) == ({NAME: NAME}, frozenset({NAME}))
    assert books.ours(TopicId(now)).tried == {}
    gone = books.wrote(DeleteTopic(NAME, NAME, TopicId(then), 1)).ours(TopicId(""))
    assert (gone.created, gone.held, gone.set_keys) == ({}, {}, {})


def test_what_was_begun_only_may_be_done() -> None:
    begun = Books().wrote(CREATE, phase=Phase.BEGUN).ours(ONE)
    assert (begun.created, begun.held) == ({}, {NAME: {"retention.ms": "7"}})
    assert Books().wrote(CREATE, phase=Phase.BEGUN).ours(None) == OwnedTopics()
    for phase in (Phase.BEGUN, Phase.FAILED):
        tried = Books().wrote(CREATE, ONE).wrote(CHANGE, phase=phase, owned=False)
        assert tried.ours(ONE).set_keys == {NAME: {"retention.ms", "segment.ms"}}
        assert tried.ours(ONE).tried == {NAME: {"flush.ms": "5"}}
        assert tried.ours(OTHER) == OwnedTopics()


def test_the_last_word_is_that_which_was_written_last() -> None:
    undo = SetConfigs(
        source=NAME,
        target=NAME,
        set={},
        remove=("flush.ms", "segment.ms"),
        before={"flush.ms": "5", "segment.ms": "5"},
        id=ONE,
    )
    books = Books().wrote(CREATE, ONE).wrote(CHANGE, ONE).wrote(undo, ONE)
    assert books.ours(ONE).set_keys == {NAME: {"retention.ms"}}
    assert books.wrote(CHANGE, ONE).ours(ONE).set_keys == {NAME: {"retention.ms", "flush.ms"}}
    failed = SetConfigs(
        source=NAME,
        target=NAME,
        set={"flush.ms": "6"},
        remove=(),
        before={"flush.ms": "5"},
        owned=("flush.ms",),
        id=ONE,
    )
    books.wrote(failed, phase=Phase.FAILED, owned=False)
    assert books.ours(ONE).set_keys == {NAME: {"retention.ms", "flush.ms"}}


def test_an_entry_of_before_steps_knew_ids_can_be_read() -> None:
    data = {k: v for k, v in as_data(CHANGE).items() if k not in {"owned", "id"}}
    entry = journal(CHANGE, data, Phase.DONE, ONE, 1, owned=False)
    books = LinkBooks(LINK)
    books.take(entry)
    assert ours_of(books, {NAME: ONE}).set_keys == {NAME: {"flush.ms"}}


KEYS = ("flush.ms", "segment.ms")
wishes = st.dictionaries(st.sampled_from(KEYS), st.sampled_from("123"))
events = st.one_of(
    st.tuples(st.sampled_from(("done", "killed before", "killed after", "failed", "late")), wishes),
    st.tuples(st.just("another hand"), wishes),
)


class Copy:
    """A mirror topic whose configs follow the source by steps that fail, and by other hands."""

    def __init__(self) -> None:
        self.books = Books().wrote(
            CreateTopic(source=NAME, target=NAME, partitions=1, replication_factor=1, configs={}),
            ONE,
        )
        self.own: dict[str, str] = {}
        self.made: set[str] = set()
        self.tried: set[str] = set()

    def by_another_hand(self, configs: dict[str, str]) -> None:
        self.own |= configs
        self.made -= configs.keys()

    def follow(self, wish: dict[str, str], how: str) -> None:
        """Plan a step to what the source has, see that it is right, and do it as far as said."""
        there = replace(topic(NAME, own=self.own), id=ONE)
        seen = replace(observed(topic(NAME, own=wish), target=(there,)), known=frozenset(KEYS))
        steps = compare(seen, ours=self.books.ours(ONE)).steps
        removed = {key for step in steps if isinstance(step, SetConfigs) for key in step.remove}
        assert self.made - wish.keys() <= removed <= self.tried
        for step in steps:
            assert isinstance(step, SetConfigs)
            self.tried |= step.set.keys()
            self.books.wrote(step, phase=Phase.BEGUN, owned=False)
            if how in {"done", "killed after", "late"}:
                self._change(step)
            if how in {"done", "failed", "late"}:
                end = Phase.DONE if how == "done" else Phase.FAILED
                self.books.wrote(step, ONE if how == "done" else NO_TOPIC_ID, end, owned=False)

    def _change(self, step: SetConfigs) -> None:
        self.own = {k: v for k, v in {**self.own, **step.set}.items() if k not in step.remove}
        self.made = (self.made | step.set.keys()) - set(step.remove)


@given(st.lists(events, max_size=8), wishes)
def test_whatever_goes_wrong_what_the_link_set_is_its_own(
    history: list[tuple[str, dict[str, str]]], last: dict[str, str]
) -> None:
    """It can take back what it set, and never takes back what it never tried to set."""
    copy = Copy()
    for how, configs in history:
        if how == "another hand":
            copy.by_another_hand(configs)
        else:
            copy.follow(configs, how)
    copy.follow(last, "done")
    copy.follow({}, "done")
    assert not copy.made


def test_what_is_held_back_from_a_topic_of_others_is_known_until_it_is_released() -> None:
    """A restore holds back configs of a topic that was there before, also while it may have."""
    before = {"cleanup.policy": "compact", "retention.ms": None}
    hold = SetConfigs(
        source=NAME,
        target=NAME,
        set={"cleanup.policy": "delete", "retention.ms": "-1"},
        remove=(),
        before=before,
        id=ONE,
        held=before,
    )
    release = replace(
        hold,
        set={"cleanup.policy": "compact"},
        remove=("retention.ms",),
        before=hold.set,
        held={},
    )
    for steps in ([hold], [UncertainChange(hold)]):
        ours = OwnedTopics.of(steps)
        assert ours.waiting(NAME, {"cleanup.policy": "delete", "retention.ms": "-1"}) == before
        assert ours.waiting(NAME, {"cleanup.policy": "compact", "retention.ms": "-1"}) == {
            "retention.ms": None
        }
        assert not OwnedTopics.of([*steps, release]).waiting(NAME, hold.set)
