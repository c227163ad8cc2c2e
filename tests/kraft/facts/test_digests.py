"""What both readers of a cluster's metadata make of the same contents."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from towpath.kraft.facts import digests
from towpath.model.quota import Entity, EntityKind

PARTS = st.lists(st.binary(max_size=8), max_size=4)


@given(PARTS, PARTS)
def test_only_the_same_parts_have_the_same_digest(one: list[bytes], other: list[bytes]) -> None:
    assert (digests.digest(*one) == digests.digest(*other)) == (one == other)


def test_secret_values_are_digested_whatever_their_prefix_and_others_are_shown() -> None:
    for key in ("ssl.key.password", "listener.name.sasl.scram-sha-256.sasl.jaas.config"):
        shown = digests.value_or_digest(key, "hunter2")
        assert shown == digests.digest(b"hunter2")
        assert "hunter2" not in shown
    assert digests.value_or_digest("retention.ms", "86400000") == "86400000"


def test_a_credential_shows_neither_salt_nor_keys_but_differs_with_each() -> None:
    seen = {
        digests.scram(8192, *parts)
        for parts in ((b"s", b"k", b"v"), (b"sk", b"", b"v"), (b"s", b"v", b"k"))
    }
    assert len(seen) == 3
    assert all(len(each.digest) == 64 and each.iterations == 8192 for each in seen)


def test_the_order_of_renewers_and_entities_means_nothing() -> None:
    first = digests.token("User:a", "", ["User:c", "User:b"], (1, 2, 3))
    assert first == digests.token("User:a", "User:a", ["User:b", "User:c"], (1, 2, 3))
    assert (first.issued, first.expires, first.until) == (1, 2, 3)
    user, client = Entity(EntityKind.USER, "u"), Entity(EntityKind.CLIENT_ID, None)
    assert digests.in_order([client, user]) == digests.in_order([user, client]) == (user, client)


def test_the_id_of_a_topic_is_written_as_kafka_writes_it() -> None:
    # Kafka's own test: Uuid.fromString("AAAAAAAAAAAAAAAAAAAAAQ") is METADATA_TOPIC_ID.
    assert digests.topic_id(uuid.UUID(int=1)) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert digests.topic_id(uuid.UUID(int=(1 << 128) - 1)) == "_____________________w"
