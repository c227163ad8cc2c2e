"""What transactional producers write together moves together, and the reason names it."""

from __future__ import annotations

from towpath.gateway.promotion.obstacles import RECENT
from towpath.gateway.promotion.transaction_obstacles import MOST_IDS, JoinedWrites, of_transactional
from towpath.gateway.transaction_routes import SeenTransactional, joined_beyond
from towpath.model.nouns import ProducerId, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

TOPIC, OTHER, NOW = TopicName("t"), TopicName("u"), 1_000_000
TP = TopicPartition(TOPIC, 0)
SEEN = {"app": SeenTransactional(producer=5)}


def joined(*groups: str, other: bool = False, producer: int = 5, at: int = NOW) -> JoinedWrites:
    topics = {TOPIC, OTHER} if other else {TOPIC}
    return JoinedWrites(topics, {*groups}, ProducerId(producer), at, TP)


def told(
    each: JoinedWrites, seen: dict[str, SeenTransactional] | None = None, name: str = "app"
) -> list[Reason]:
    every = {name: each}
    found = of_transactional(every, {TOPIC}, {"g"}, SEEN if seen is None else seen, NOW)
    return [*found]


def test_what_writes_through_the_gateway_to_what_moves_alone_forbids_nothing() -> None:
    assert told(joined("g")) == []


def test_topics_and_groups_that_one_id_joins_are_named() -> None:
    (topic,) = told(joined(other=True))
    assert topic.code is ReasonCode.PROMOTE_TOGETHER
    assert str(topic) == "transactional id app also writes to topic u; both must move together"
    (group,) = told(joined("g", "h"))
    assert group.code is ReasonCode.PROMOTE_TOGETHER_GROUP
    assert "transactional id app also commits offsets of group h" in str(group)


def test_an_id_that_writes_without_the_gateway_is_named_for_a_while() -> None:
    (direct,) = told(joined(), seen={})
    assert direct.code is ReasonCode.PROMOTE_DIRECT
    assert "transactional id app, a producer that does not use the gateway wrote" in str(direct)
    (other,) = told(joined(producer=6))
    assert other.code is ReasonCode.PROMOTE_DIRECT, "somebody else began with this id"
    assert told(joined(at=NOW - RECENT), seen={}) == []
    by_group_alone = JoinedWrites({TOPIC}, {"g"})
    assert told(by_group_alone) == []


def test_so_many_ids_do_not_fit_into_one_record() -> None:
    def codes(count: int) -> set[ReasonCode]:
        every = {str(number): JoinedWrites({TOPIC}) for number in range(count)}
        return {each.code for each in of_transactional(every, {TOPIC}, {"g"}, {}, NOW)}

    assert codes(MOST_IDS) == set()
    assert codes(MOST_IDS + 1) == {ReasonCode.PROMOTE_PRODUCERS}


def test_what_an_id_wrote_that_came_late_is_compared_alike() -> None:
    seen = SeenTransactional(5, {"t", "u"}, {"g", "h"})
    assert [*joined_beyond(seen, {"t"}, {"g"})] == [("u", ""), ("", "h")]
    assert [*joined_beyond(seen, {"t", "u"}, {"g", "h"})] == []
