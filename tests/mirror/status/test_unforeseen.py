"""What nobody knows of deletions on the target, in one line for topics that are alike. Pure."""

from __future__ import annotations

from towpath.mirror.status.foretold import unforeseen_lines
from towpath.model.nouns import TopicName

WHY = "target: asking for the configs of topic {}: UNKNOWN_TOPIC_OR_PARTITION (3)"


def lines(**unknown: str) -> list[str]:
    return [*unforeseen_lines({TopicName(name): why for name, why in unknown.items()})]


def test_a_line_about_one_topic_has_the_words_of_its_reason() -> None:
    [line] = lines(orders=WHY.format("orders"))
    assert line.startswith("1 topic (orders): ")
    assert line.endswith(WHY.format("orders"))


def test_topics_with_one_reason_share_a_line_whose_other_words_stay() -> None:
    [line] = lines(ask=WHY.format("ask"), orders=WHY.format("orders"))
    assert line.startswith("2 topics (ask, orders): ")
    assert "asking for the configs of topic TOPIC" in line
