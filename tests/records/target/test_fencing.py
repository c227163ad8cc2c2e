"""Transactional ids: no two links share one, and the rights of `docs/rights.md` are enough."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from towpath.ledger.producers import transactional_id
from towpath.model.nouns import LinkName, TopicName, TopicPartition

NAMES = st.text("ab.-_0", min_size=1, max_size=6)


def id_of(link: str, topic: str, partition: int) -> str:
    return transactional_id(LinkName(link), TopicPartition(TopicName(topic), partition))


def test_links_whose_names_begin_alike_have_ids_of_their_own() -> None:
    assert id_of("a", "b.c", 0) != id_of("a.b", "c", 0)
    assert not id_of("a.b", "c", 0).startswith("towpath.a.:")


@given(NAMES, NAMES, NAMES, NAMES, st.integers(0, 20), st.integers(0, 20))
def test_ids_are_equal_only_for_the_same_link_and_partition(
    link: str, other: str, topic: str, its: str, partition: int, number: int
) -> None:
    same = (link, topic, partition) == (other, its, number)
    assert (id_of(link, topic, partition) == id_of(other, its, number)) == same


@given(NAMES, NAMES)
def test_rights_by_the_prefix_of_earlier_versions_are_enough(link: str, topic: str) -> None:
    assert id_of(link, topic, 0).startswith(f"towpath.{link}.")
