from __future__ import annotations

import pickle

from kafka.errors import kafka_errors

from towpath.cluster.codes import _ADVICE, CODES, code, refused


def test_every_code_of_kafka_python_is_there() -> None:
    numbers = {number for number in kafka_errors if number is not None}
    assert numbers <= set(CODES)
    assert set(range(-1, 134)) == set(CODES)


def test_kafka_wins_where_kafka_python_differs() -> None:
    assert (code(6).name, code(6).retriable) == ("NOT_LEADER_OR_FOLLOWER", True)
    assert code(2).retriable
    assert code(75).retriable
    assert code(29).name == "TOPIC_AUTHORIZATION_FAILED"


def test_names_are_unique_and_advice_belongs_to_a_code() -> None:
    assert len({entry.name for entry in CODES.values()}) == len(CODES)
    assert set(_ADVICE) <= set(CODES)


def test_an_unknown_code_is_no_reason_to_stop() -> None:
    assert code(4711).name == "UNKNOWN_CODE"
    assert not code(4711).retriable


def test_a_refusal_says_what_why_and_what_to_do() -> None:
    error = refused("target", "creating topic a", 38, "Only 1 broker.")
    assert str(error) == (
        "target: creating topic a: INVALID_REPLICATION_FACTOR (38); Only 1 broker; set a"
        " replication factor no larger than the number of brokers"
    )
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301, our own bytes


def test_a_missing_permission_names_the_acl() -> None:
    error = refused("source", "asking for offsets of a-0", 29, acl="Describe on topic a")
    assert str(error).endswith("(29); the login needs the ACL Describe on topic a")
    assert "ACL" not in str(refused("source", "asking", 3, acl="Describe on topic a"))


def test_too_few_replicas_may_be_no_question_of_replicas() -> None:
    """A transactional producer meets it on a cluster that never had a transaction."""
    said = str(refused("target", "starting transactions", 19))
    assert "NOT_ENOUGH_REPLICAS" in said
    assert "it may be no question of replicas: a cluster that never had a transaction" in said
    assert "__transaction_state" in said
