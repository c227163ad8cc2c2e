"""For random clusters: what a difference asks for leaves no difference, and harms nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.subjects.topic_models import DEFAULTS, KNOWN, compare, done
from towpath.model.nouns import TopicId, TopicName
from towpath.model.target_kinds import TargetKind
from towpath.settings import StartAt
from towpath.topics.configs import equal, limit, untouched
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import OwnedTopics
from towpath.topics.policies import as_taken
from towpath.topics.steps import CreateTopic, SetConfigs, TopicStep

NUMBERS = ("retention.ms", "retention.bytes", "max.message.bytes", "segment.ms")
LIMITS = ("retention.ms", "retention.bytes", "max.message.bytes")
names = st.text("abc._", min_size=1, max_size=3).filter(lambda name: name not in {".", ".."})
numbers = st.integers(-1, 9).map(str)
policies = st.sampled_from(("delete", "compact", "compact,delete", "delete,compact", ""))
times = st.sampled_from(("CreateTime", "LogAppendTime"))


def _configs(*, whole: bool) -> st.SearchStrategy[dict[str, str]]:
    """Return configs of a topic, or those of all topics that have none of their own."""
    values = {
        **dict.fromkeys(NUMBERS, numbers),
        "cleanup.policy": policies,
        "message.timestamp.type": times,
        "min.insync.replicas": st.integers(1, 4).map(str),
    }
    if whole:
        return st.fixed_dictionaries(values)
    return st.fixed_dictionaries({}, optional={**values, "unknown.key": numbers})


@st.composite
def topics(draw: st.DrawFn, defaults: Mapping[str, str]) -> dict[str, Topic]:
    made = {}
    for name in sorted(draw(st.sets(names, max_size=4))):
        own = draw(_configs(whole=False))
        made[name] = Topic(
            TopicName(name), TopicId(f"id-{name}"), draw(st.integers(1, 5)),
            draw(st.integers(1, 5)), own, {**defaults, **own},
        )  # fmt: skip
    return made


spellings = st.sampled_from(("{}", " {}", "{} "))
written = st.builds(lambda form, number: form.format(number), spellings, numbers)
rules = st.fixed_dictionaries(
    {},
    optional={
        "exclude": st.lists(st.sampled_from((*NUMBERS, "cleanup.policy")), max_size=2),
        "override": st.dictionaries(st.sampled_from(NUMBERS), written, max_size=2),
    },
)


@dataclass
class World:
    """A link between two clusters, whose target does what steps say.

    Attributes:
        seen: What is observed.
        defaults: What the target gives topics; `seen` may tell less of it.
        file: What the file says of topics.
        start: Where copying begins.
        steps: All that were ever done.
    """

    seen: ObservedTopics
    defaults: Mapping[str, str]
    file: Mapping[str, Any]
    start: StartAt
    steps: list[TopicStep] = field(default_factory=list)

    def ours(self, *, caught_up: bool = False) -> OwnedTopics:
        return OwnedTopics.of(self.steps, self.seen.names if caught_up else ())

    def settle(self, *, caught_up: bool = False) -> None:
        """Do what is to be done, and see that nothing more is."""
        ours = self.ours(caught_up=caught_up)
        found = compare(self.seen, self.start, ours, **self.file)
        for step in found.steps:
            if isinstance(step, SetConfigs):
                self._check(step, ours, caught_up=caught_up)
        self.seen = done(found.steps, self.seen, self.defaults, 3)
        self.steps += found.steps
        again = compare(self.seen, self.start, self.ours(caught_up=caught_up), **self.file)
        assert not again.steps

    def _check(self, step: SetConfigs, ours: OwnedTopics, *, caught_up: bool) -> None:
        assert set(step.remove) <= ours.set_keys.get(step.target, frozenset())
        assert step.set.keys() <= self.seen.accepted | self.override.keys()
        assert all(not untouched(key) or key in self.override for key in step.changes)
        if not caught_up:
            assert not ours.held.get(step.target, {}).keys() & step.changes.keys()

    @property
    def override(self) -> Mapping[str, str]:
        override: Mapping[str, str] = self.file["configs"].get("override", {})
        return override

    def check(self) -> None:
        """See that the mirror topics are what the source asks for."""
        for each in self.seen.source:
            copy = self.seen.target[each.name]
            assert copy.partitions >= each.partitions
            self._check_configs(each, copy)

    def _check_configs(self, each: Topic, copy: Topic) -> None:
        excluded = self.file["configs"].get("exclude", ())
        in_sync = "min.insync.replicas"
        for key, value in copy.configs.items():
            if key == in_sync and in_sync in self.seen.accepted:
                assert int(value) <= copy.replication_factor
            elif key in self.override:
                assert equal(key, value, self.override[key])
            elif key in excluded or key not in self.seen.accepted or untouched(key):
                continue
            elif key in each.own and key != in_sync:
                assert equal(key, value, as_taken(each, self.seen).own[key])
            elif key in LIMITS:
                theirs, ours = limit(value), limit(as_taken(each, self.seen).configs[key])
                assert theirs is not None
                assert ours is not None
                assert theirs >= ours
            elif key == "segment.ms" and "delete" in each.configs["cleanup.policy"]:
                theirs, ours = limit(value), limit(each.configs[key])
                assert theirs is not None
                assert ours is not None
                assert theirs >= ours
            elif key == "cleanup.policy":
                assert equal(key, value, as_taken(each, self.seen).configs[key])


@st.composite
def worlds(draw: st.DrawFn) -> World:
    defaults = draw(_configs(whole=True))
    source = tuple(draw(topics(draw(_configs(whole=True)))).values())
    told = draw(st.one_of(st.just(defaults), st.just({}), _told(defaults)))
    seen = ObservedTopics(
        source=source,
        names={each.name: each.name for each in source},
        target={TopicName(name): copy for name, copy in draw(topics(defaults)).items()},
        brokers=draw(st.integers(1, 5)),
        known=frozenset(KNOWN),
        kind=draw(st.sampled_from(TargetKind)),
        defaults=told,
        default_replicas=3,
        takes_empty_policy=draw(st.booleans()),
    )
    factor = draw(st.one_of(st.sampled_from(("source", "broker_default")), st.integers(1, 5)))
    file = {"configs": draw(rules), "replication_factor": factor}
    return World(seen, defaults, file, draw(st.sampled_from(StartAt)))


def _told(defaults: Mapping[str, str]) -> st.SearchStrategy[dict[str, str]]:
    """Return what is told of the target's defaults."""
    keys = st.sets(st.sampled_from(sorted(defaults.keys() & DEFAULTS.keys())))
    return keys.map(lambda chosen: {key: defaults[key] for key in chosen})


@given(worlds(), st.data())
def test_what_is_done_leaves_nothing_to_do(world: World, data: st.DataObject) -> None:
    untold = dict(world.seen.target)
    world.settle()
    changed = data.draw(topics(data.draw(_configs(whole=True))))
    again = tuple(changed.get(each.name, each) for each in world.seen.source)
    world.seen = replace(world.seen, source=again)
    world.settle()
    world.settle(caught_up=True)
    world.check()
    for name, copy in untold.items():
        if name not in world.seen.names:
            assert world.seen.target[name] == copy


@given(worlds())
def test_records_of_a_new_copy_are_safe_until_it_is_filled(world: World) -> None:
    world.settle()
    for step in world.steps:
        copy = world.seen.target[step.target]
        if isinstance(step, CreateTopic) and "delete" in copy.configs["cleanup.policy"]:
            for key in ("retention.ms", "retention.bytes"):
                if world.start is not StartAt.LATEST and key in world.seen.accepted:
                    assert copy.configs[key] == "-1"
