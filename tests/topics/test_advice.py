"""What `plan` says of topics that are not data."""

from __future__ import annotations

from towpath.cluster.metadata import TopicInfo
from towpath.model.nouns import TopicId, TopicName
from towpath.settings import TopicsConfig
from towpath.topics.advice import own_and_tools


def told(*names: str, include: str = ".*", internal: str = "") -> list[str]:
    listed = [TopicInfo(TopicName(n), TopicId(n), n == internal, ()) for n in names]
    return [str(each) for each in own_and_tools(listed, TopicsConfig(include=(include,)))]


def test_topics_that_a_cluster_keeps_for_itself_are_named_once() -> None:
    said = "topics.include: never mirrored, as each cluster keeps its own: {} (docs/what-moves.md)"
    assert told("orders", "__remote_log_metadata", "__mirror_state", "strange", internal="strange")\
        == [said.format("__mirror_state, __remote_log_metadata, strange")]  # fmt: skip
    assert told("orders", "__remote_log_metadata", include="ord.*") == []
    assert told("orders", "__remote_log_metadata", include="__.*") == [
        said.format("__remote_log_metadata")
    ]


def test_topics_of_tools_get_a_note() -> None:
    (canaries, metrics) = told(
        "__amazon_msk_canary", "__amazon_msk_canary_state", "__CruiseControlMetrics", "orders"
    )
    assert canaries == (
        "topics.include: 2 topics of canaries will be mirrored (__amazon_msk_canary,"
        " __amazon_msk_canary_state): they probe the cluster where they are written; exclude them"
        " unless you need the copy"
    )
    assert metrics.startswith(
        "topics.include: 1 topic of Cruise Control will be mirrored (__CruiseControlMetrics): "
    )
