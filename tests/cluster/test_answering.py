"""How long a cluster has not answered."""

from __future__ import annotations

import pytest

from towpath.cluster.connect import answering
from towpath.cluster.connect.answering import Answering
from towpath.model.errors import RefusedError, UnreachableError


class Clock:
    """A clock that the test sets."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(answering, "time", made)
    return made


def test_who_is_not_asked_is_not_silent(clock: Clock) -> None:
    heard = Answering("target")
    clock.now += 10
    assert heard.silence() is None
    with heard.asking("b1"):
        clock.now += 1
    assert heard.silence() is None


def test_silence_lasts_from_the_first_question_without_an_answer(clock: Clock) -> None:
    heard = Answering("target")
    with heard.asking("b1"):
        clock.now += 12
        silence = heard.silence()
        assert silence is not None
        assert str(silence) == "no answer from the target (b1) for 12 s"


def test_a_failed_question_counts_until_some_broker_answers(clock: Clock) -> None:
    heard = Answering("target")
    with pytest.raises(UnreachableError), heard.asking("b1"):
        raise UnreachableError("target", "asking", "nothing listens there")
    clock.now += 4
    with pytest.raises(ConnectionError), heard.asking("b2"):
        raise ConnectionError
    silence = heard.silence()
    assert silence is not None
    assert (silence.broker, silence.seconds) == ("b1", 4.0)
    with pytest.raises(RefusedError), heard.asking("b2"):
        raise RefusedError("target", "asking", 29, "TOPIC_AUTHORIZATION_FAILED")
    assert heard.silence() is None


def test_one_silent_broker_of_several_is_no_silent_cluster(clock: Clock) -> None:
    heard = Answering("target")
    with heard.asking("b1"):
        clock.now += 10
        with heard.asking("b2"):
            clock.now += 1
        clock.now += 2
        silence = heard.silence()
        assert silence is not None
        assert silence.seconds == 2.0


def test_a_long_poll_has_its_time(clock: Clock) -> None:
    heard = Answering("target")
    with heard.asking("b1", 5.0):
        clock.now += 4
        assert heard.silence() is None
        clock.now += 3
        silence = heard.silence()
        assert silence is not None
        assert silence.seconds == 2.0
