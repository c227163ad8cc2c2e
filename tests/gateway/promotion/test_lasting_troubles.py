"""A trouble that goes on is told once in a while, whatever its code is."""

from __future__ import annotations

from towpath.gateway.promotion.lasting_troubles import REPEAT, LastingTroubles
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.reasons import Reason, ReasonCode

REFUSED = RefusedError("target", "asking", 31, "CLUSTER_AUTHORIZATION_FAILED").reason
OTHER = RefusedError("target", "writing", 31, "CLUSTER_AUTHORIZATION_FAILED").reason
AWAY = UnreachableError("source", "asking", "no answer").reason


def fault(text: str) -> Reason:
    return Reason.of(ReasonCode.ERROR, error="FAULT", text=text)


def test_a_trouble_that_goes_on_is_told_once_in_a_while() -> None:
    now = [1000.0]
    troubles = LastingTroubles(lambda: now[0])
    assert [*troubles.new([REFUSED, AWAY, REFUSED])] == [REFUSED, AWAY]
    now[0] += REPEAT - 1
    assert [*troubles.new([REFUSED, OTHER, AWAY])] == [OTHER], "another one is told at once"
    now[0] += 1
    assert [*troubles.new([REFUSED, OTHER])] == [REFUSED]


def test_faults_count_as_one() -> None:
    troubles = LastingTroubles(lambda: 0.0)
    first = fault("at 1")
    assert [*troubles.new([first, fault("at 2")])] == [first]


def test_what_was_told_long_ago_is_forgotten() -> None:
    now = [0.0]
    troubles = LastingTroubles(lambda: now[0])
    for number in range(1000):
        now[0] += REPEAT
        [*troubles.new([RefusedError("target", f"{number}", 3, "X").reason])]
    assert len(troubles._said) == 1
