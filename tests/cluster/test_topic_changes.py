"""What answers about many topics mean, without a broker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from towpath.cluster.admin.topic_changes import NewTopic, Trial, creation
from towpath.cluster.codes import (
    INVALID_PARTITIONS,
    REQUEST_TIMED_OUT,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.nouns import TopicName

A, B, C = (TopicName(letter) for letter in "abc")
THROTTLED = 89


def trial() -> Trial[NewTopic]:
    return Trial(creation(1000), {name: NewTopic(name, 1, 1) for name in (A, B, C)}, "target")


def answer(**codes: int) -> Any:
    said = [
        SimpleNamespace(name=name, error_code=code, error_message=None)
        for name, code in codes.items()
    ]
    return SimpleNamespace(topics=said)


def test_each_topic_is_made_or_refused_by_itself() -> None:
    tried = trial()
    tried.take(answer(a=0, b=INVALID_PARTITIONS, c=TOPIC_ALREADY_EXISTS), 3.0)
    assert (tried.done, list(tried.left)) == ({A: 1.0}, [])
    assert {name: error.error for name, error in tried.refused.items()} == {
        B: INVALID_PARTITIONS, C: TOPIC_ALREADY_EXISTS,
    }  # fmt: skip
    assert "creating topic b with 1 partition and replication factor 1" in str(tried.refused[B])
    assert tried.failed(None) == tried.refused


def test_what_time_may_heal_is_left_and_the_rest_is_not_asked_for_again() -> None:
    tried = trial()
    with pytest.raises(RefusedError) as caught:
        tried.take(answer(a=0, b=UNKNOWN_TOPIC_OR_PARTITION, c=THROTTLED), 3.0)
    assert caught.value.error == THROTTLED, "the other one may be news for a moment only"
    assert list(tried.left) == [B, C]
    assert [topic.name for topic in tried.change.request(tried.left).topics] == [B, C]
    tried.take(answer(b=INVALID_PARTITIONS, c=0), 4.0)
    assert tried.done == {A: 1.0, C: 3.0}
    assert list(tried.failed(None)) == [B]


def test_what_an_attempt_without_an_answer_made_is_made() -> None:
    tried = trial()
    tried.unanswered()
    tried.take(answer(a=TOPIC_ALREADY_EXISTS, b=0, c=TOPIC_ALREADY_EXISTS), 3.0)
    assert (list(tried.done), tried.refused) == ([A, B, C], {})


def test_only_what_timed_out_may_have_been_made() -> None:
    tried = trial()
    with pytest.raises(RefusedError):
        tried.take(answer(a=REQUEST_TIMED_OUT, b=THROTTLED, c=0), 3.0)
    tried.take(answer(a=TOPIC_ALREADY_EXISTS, b=TOPIC_ALREADY_EXISTS), 1.0)
    assert (set(tried.done), list(tried.refused)) == ({A, C}, [B])


def test_what_got_no_answer_at_all_failed_for_want_of_it() -> None:
    tried = trial()
    with pytest.raises(RefusedError):
        tried.take(answer(a=0, b=INVALID_PARTITIONS, c=THROTTLED), 3.0)
    silent = UnreachableError("target", "creating topics", "nobody answered")
    failed = tried.failed(silent)
    assert failed == tried.refused
    assert list(failed) == [C, B]
    assert trial().failed(silent) == dict.fromkeys((A, B, C), silent)
