"""Two links with different names onto one mirror topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.kafka import Record, consume, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.ledger.link import open_link
from towpath.mirror.plan.link_plan import build
from towpath.mirror.run.rounds import RoundPlan, plan_round
from towpath.model.nouns import TopicName
from towpath.plan.model import TopicsTakenError, refuse
from towpath.settings import LinkConfig

pytestmark = pytest.mark.broker


def shared(config: LinkConfig) -> LinkConfig:
    topics = config.topics.model_copy(update={"shared": True})
    return config.model_copy(update={"topics": topics})


def test_a_second_link_onto_one_topic_is_refused(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    name = TopicName(new_name("second"))
    first = Mirror(tmp_path, source, target, name, link=f"{name}-first")
    second = replace(first, link=f"{name}-other")
    first.create()
    produce(source.bootstrap, name, [Record(b"k", b"%d" % i) for i in range(20)])
    first.catch_up()
    plan = build(second.config)
    (problem,) = (each for each in plan.problems if each.about == name)
    assert f"link {name}-first writes its mirror topic {name}" in problem.text
    assert (plan.topics, plan.steps, plan.exit_code) == ({}, (), 2)
    with pytest.raises(TopicsTakenError, match="several links may write there"):
        refuse(plan)  # as `run` does before it touches anything
    assert second.slices() == []
    assert first.catch_up()[0].error == ""
    assert len(consume(target.bootstrap, name)) == 20
    with open_link(second.config) as link:
        link.look()
        assert link.books.identity is None, "nothing is written about a link that is refused"

    wanted = shared(second.config)
    assert build(wanted).topics == {name: name}
    (work,) = plan_round(RoundPlan(wanted, "test", 1, once=True), 1)
    assert [each.source.topic for each in work.assignments] == [name]
