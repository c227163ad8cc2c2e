"""What transactional producers write together moves together, and the reason names it."""

from __future__ import annotations

import pytest

from towpath.gateway.promotion.fleet import FleetFacts
from towpath.gateway.promotion.reasons.producers import RECENT
from towpath.gateway.promotion.reasons.transactional import MOST_IDS, JoinedWrites, of_transactional
from towpath.gateway.transaction_routes import SeenTransactional, joined_beyond
from towpath.ledger.entries import GatewayReply, MovedTransactional, SeenId
from towpath.model.nouns import LinkName, ProducerId, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

TOPIC, OTHER, NOW = TopicName("t"), TopicName("u"), 1_000_000
TP = TopicPartition(TOPIC, 0)
SEEN = {"app": SeenTransactional({5})}


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


def test_what_moved_and_goes_on_as_it_is_comes_through_a_gateway() -> None:
    """Also one that was killed since, and so knows nothing of it."""
    moved = MovedTransactional(
        id="app", left_id=3, left_epoch=2, there_id=5, there_epoch=7, ended="Empty"
    )

    def direct(epoch: int) -> list[Reason]:
        each = JoinedWrites({TOPIC}, set(), ProducerId(5), NOW, TP, (5, epoch))
        return [*of_transactional({"app": each}, {TOPIC}, {"g"}, {}, NOW, {"app": moved})]

    assert direct(7) == []
    assert [each.code for each in direct(8)] == [ReasonCode.PROMOTE_DIRECT]


@pytest.mark.parametrize("producers", [(5, 4), (4, 5)])
def test_what_one_of_several_gateways_saw_is_not_direct(producers: tuple[int, int]) -> None:
    """Its client went from one to the other, and has got another producer id since."""
    facts = FleetFacts()
    for producer in producers:
        seen = SeenId(id="app", producer=producer, topics=(), groups=(), is_open=False)
        facts.take(
            GatewayReply(
                link=LinkName("l"), gateway=str(producer), request="r", leader="one", number=1,
                joined=True, seen=(seen,),
            )
        )  # fmt: skip
    assert told(joined(), facts.seen) == []
    (direct,) = told(joined(producer=6), facts.seen)
    assert direct.code is ReasonCode.PROMOTE_DIRECT


def test_so_many_ids_do_not_fit_into_one_record() -> None:
    def codes(count: int) -> set[ReasonCode]:
        every = {str(number): JoinedWrites({TOPIC}) for number in range(count)}
        return {each.code for each in of_transactional(every, {TOPIC}, {"g"}, {}, NOW)}

    assert codes(MOST_IDS) == set()
    assert codes(MOST_IDS + 1) == {ReasonCode.PROMOTE_PRODUCERS}


def test_what_an_id_wrote_that_came_late_is_compared_alike() -> None:
    seen = SeenTransactional({5}, {"t", "u"}, {"g", "h"})
    assert [*joined_beyond(seen, {"t"}, {"g"})] == [("u", ""), ("", "h")]
    assert [*joined_beyond(seen, {"t", "u"}, {"g", "h"})] == []
