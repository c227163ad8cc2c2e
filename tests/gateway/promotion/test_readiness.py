"""What a look at both clusters tells of producers that write without a gateway."""

from __future__ import annotations

from towpath.gateway.promotion.readiness import writers_since
from towpath.model.nouns import ProducerId, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

ONE, TWO = (TopicPartition(TopicName("pay"), number) for number in range(2))
FIRST, SECOND = ProducerId(1), ProducerId(2)


def test_who_has_written_since_the_last_look_is_told_once_for_each_partition() -> None:
    before = {(ONE, FIRST): (0, 7), (ONE, SECOND): (0, 3), (TWO, FIRST): (0, 9)}
    assert [*writers_since(before, before)] == []
    grown = before | {(ONE, FIRST): (0, 8), (ONE, SECOND): (1, 0)}
    told = [Reason.of(ReasonCode.PROMOTE_DIRECT, partition="pay-0")]
    assert [*writers_since(before, grown)] == told
    assert [*writers_since({}, {(ONE, FIRST): (0, 0)})] == told, "one that is new has written"
    assert [*writers_since(before, {})] == [], "the source has forgotten them"
