"""Expressions that look like names are told where they fit more than that. Pure."""

from __future__ import annotations

import pytest

from towpath.model.nouns import TopicName
from towpath.settings.sections.topics import TopicSelection
from towpath.topics.literals import beyond_names

TAKEN = [TopicName(name) for name in ("orders.v1", "orders-v1", "ordersXv1", "other")]


def told(include: tuple[str, ...], exclude: tuple[str, ...] = ()) -> list[str]:
    topics = TopicSelection(include=include, exclude=exclude)
    return [str(each) for each in beyond_names(topics, TAKEN, [TopicName("paysXv2")])]


def test_a_name_with_a_dot_that_fits_other_topics_is_told() -> None:
    assert told(("orders.v1",)) == [
        "topics.include: 'orders.v1' is a regular expression, in which a dot stands for any"
        " character: it also fits orders-v1, ordersXv1; write 'orders\\.v1' for the one topic"
    ]
    assert told((".*",), ("pays.v2",))[0].startswith(
        "topics.exclude: 'pays.v2' is a regular expression"
    )


@pytest.mark.parametrize(
    "include",
    [(".*",), ("orders.*",), (r"orders\.v1",), ("other",), ("o.hers.v1",), ("ord[a-z]+",)],
)
def test_what_means_more_than_a_name_or_fits_one_alone_is_not(include: tuple[str, ...]) -> None:
    assert told(include) == []
