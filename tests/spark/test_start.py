"""How often the start of `towpath run` asks the clusters."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.support.here import Here
from tests.support.kafka import Record, create_topic, produce
from tests.support.links import Link
from towpath.cluster.connect.control import Control
from towpath.ledger.topic import TOPIC as LEDGER
from towpath.mirror.plan.link_plan import planned
from towpath.mirror.run import round_planner as planner
from towpath.mirror.run import run as runs
from towpath.mirror.run.rounds import plan_round
from towpath.model.nouns import Side

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.alone("quotas"),  # those of other tests would be copied, too
]
OF_TOPICS, OF_A_BROKER = 2, 4
"""The types of resources that have configs."""
SAFE = "access: {acls: safe, quotas: true}\n"


class Requests(Counter[tuple[str, str]]):
    """Counts those requests by which both clusters are observed."""

    def take(self, side: str, request: Any) -> None:
        match type(request).__name__:
            case "MetadataRequest" if request.topics is None:
                self[side, "all topics"] += 1
            case "DescribeConfigsRequest":
                for each in request.resources:
                    if each.resource_type == OF_TOPICS and each.resource_name != LEDGER:
                        self[side, "topic configs"] += 1
                    elif each.resource_type == OF_A_BROKER and each.resource_name:
                        self[side, "broker configs"] += 1
            case "DescribeAclsRequest" | "DescribeClientQuotasRequest" as name:
                self[side, name] += 1
            case _:
                pass


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[Requests]:
    """Return the requests of each run of this process up to its first slices."""
    asked, starts = Requests(), list[Requests]()
    ask = Control._ask_at

    def asking(self: Control, address: Any, name: str, request: Any, *more: Any) -> Any:
        asked.take(self.side, request)
        return ask(self, address, name, request, *more)

    def planning(*arguments: Any) -> Any:
        asked.clear()  # what came before belongs to the run before
        return planned(*arguments)

    def planning_round(round_plan: Any, number: int, *more: Any) -> Any:
        slices = plan_round(round_plan, number, *more)
        if number == 1:
            starts.append(Requests(asked))
        return slices

    monkeypatch.setattr(Control, "_ask_at", asking)
    monkeypatch.setattr(runs, "planned", planning)
    monkeypatch.setattr(planner, "plan_round", planning_round)
    return starts


@pytest.mark.spark(long=True)
def test_both_clusters_are_observed_once(link: Link, here: Here, starts: list[Requests]) -> None:
    """Where topics were made the target is looked at once more, and the source is not."""
    file = link.file
    file.write_text(file.read_text() + SAFE)
    done = here("apply", str(file), "--yes")  # what is left of other tests
    assert done.code == 0, done.said
    topic = create_topic(link.source.bootstrap, f"{link.name}.one", 2)
    produce(link.source.bootstrap, topic, [Record(b"k", b"v")])
    for _ in range(2):
        done = here.run(str(file), "--until-caught-up")
        assert done.code == 0, done.said
    assert link.assert_same(topic, 2) == 1
    made, again = starts
    # Where partitions stand is asked each second; that lists the topics of the source, too.
    # Configs of the new topic are asked for until the target shows them; that may be twice.
    apart = (Side.SOURCE, "all topics"), (Side.TARGET, "topic configs")
    asked = {key: n for key, n in made.items() if key not in apart}
    assert asked == {
        (Side.SOURCE, "topic configs"): 1,
        (Side.TARGET, "all topics"): 2,
        (Side.TARGET, "broker configs"): made[Side.TARGET, "broker configs"],
        **{(side, "DescribeAclsRequest"): 1 for side in Side},
        **{(side, "DescribeClientQuotasRequest"): 1 for side in Side},
    }
    assert again[Side.TARGET, "all topics"] == 1
    for side in Side:
        for name in ("topic configs", "DescribeAclsRequest", "DescribeClientQuotasRequest"):
            assert again[side, name] == 1, (side, name)
