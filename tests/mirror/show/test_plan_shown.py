"""What `plan` shows, and `apply` before its question, at 80 columns."""

from __future__ import annotations

from rich.console import Console

from towpath.mirror.show.plan_picture import picture
from towpath.model.nouns import ClusterId, LinkName, TopicName
from towpath.plan.model import ClusterFacts, Plan
from towpath.topics.steps import CreateTopic

ORDERS, COPY = TopicName("orders-of-all-countries"), TopicName("eu.orders-of-all-countries")
CONFIGS = {
    "cleanup.policy": "compact,delete",
    "max.message.bytes": "2097152",
    "min.insync.replicas": "2",
    "retention.ms": "-1",
}


def test_every_config_stands_whole_in_one_line() -> None:
    step = CreateTopic(
        source=ORDERS, target=COPY, partitions=300, replication_factor=-1, configs=CONFIGS,
        held={"retention.ms": "604800000"},
    )  # fmt: skip
    facts = ClusterFacts(("a:9092",), ClusterId("A"), "3.9", 3, "mirror")
    plan = Plan(
        link=LinkName("shop"), source=facts, target=facts, topics={ORDERS: COPY}, steps=(step,)
    )
    console = Console(width=80, highlight=False, markup=False, color_system=None)
    with console.capture() as printed:
        console.print(picture(plan))
    lines = printed.get().splitlines()
    assert max(map(len, lines)) <= 80
    for key, value in CONFIGS.items():
        assert any(f"{key}={value}" in line.split() for line in lines), key
    assert "(then 604800000)" in " ".join(printed.get().split())
