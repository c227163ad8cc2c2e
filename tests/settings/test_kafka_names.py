"""Keys of Kafka and its tools lead to our keys, and show no secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import ruamel.yaml

from towpath.settings import LinkConfig, check
from towpath.settings.kafka_names import NAMES, advice
from towpath.settings.shape import walk

Write = Callable[[str], Path]

ADVICE = [
    (
        "bootstrap.servers",
        "a:9092, b:9092",
        'is called source.bootstrap here; write `bootstrap: "a:9092, b:9092"` in source',
    ),
    ("bootstrap_servers", "not an address", "is called source.bootstrap here"),
    ("security.protocol", "SASL_SSL", "is Kafka's name; write `tls: true` and `sasl: {mechanism:"),
    ("security.protocol", "SSL", "is Kafka's name; write `tls: true`, in source"),
    ("security.protocol", "PLAINTEXT", "is Kafka's name; remove it: without `tls` and `sasl`"),
    ("sasl.mechanism", "PLAIN", "write `sasl: {mechanism: PLAIN}` in source"),
    (
        "sasl.jaas.config",
        'PlainLoginModule required username="u" password="hunter2";',
        "write `sasl: {mechanism: ..., username: ..., password: env:NAME}`",
    ),
    ("sasl.password", "hunter2", "write `sasl: {password: env:NAME}` in source"),
    ("ssl.truststore.location", "ca.pem", 'write `tls: {ca: "ca.pem"}` in source'),
    ("ssl.truststore.location", "trust.jks", "a PEM file of the authorities"),
    ("ssl.truststore.password", "hunter2", "PEM files need none; remove it"),
    ("ssl.endpoint.identification.algorithm", "", "write `tls: {verify_hostname: false}`"),
    ("client.rack", "eu-1", 'write `rack: "eu-1"` in source'),
    ("request.timeout.ms", 30000, "write `request_timeout: 30000ms` in source"),
    ("consumer_groups", ["g"], "write `groups: {}`, which brings over"),
    ("topics.exclude", "a.*,b", "is nested here; write `topics: {exclude: ['a.*', 'b']}`"),
    ("us->eu.topics", "a.*", "write `topics: {include: ['a.*']}`"),
    ("replication.factor", 3, "write `topics: {replication_factor: 3}`"),
    ("refresh.topics.interval.seconds", 600, "write `run: {discover: 600s}`"),
    ("sync.topic.acls.enabled", True, "write `access: {acls: safe}`"),
    ("sync.topic.acls.enabled", "false", "write `access: {acls: off}`"),
    (
        "replication.policy.class",
        "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        'write `topics: {rename: "{topic}"}`',
    ),
    ("tasks.max", 4, "has no counterpart here: write `towpath run --parallelism N`"),
    ("offset-syncs.topic.location", "target", "has no counterpart here"),
    ("consumer.auto.offset.reset", "latest", 'write `records: {start: "latest"}`'),
    ("source.cluster.bootstrap.servers", "a:1", 'write `bootstrap: "a:1"` in source'),
    ("us.bootstrap.servers", "a:1", 'write `bootstrap: "a:1"` in source'),
]


@pytest.mark.parametrize(("key", "value", "told"), ADVICE)
def test_a_name_of_another_tool_leads_to_ours(key: str, value: object, told: str) -> None:
    text = advice(key, value, "source")
    assert text is not None
    assert told in text
    assert "hunter2" not in text


def test_the_side_is_left_open_where_nothing_tells_it() -> None:
    assert advice("bootstrap.servers", "a:1", "") == (
        'bootstrap.servers is called source or target.bootstrap here; write `bootstrap: "a:1"`'
        " in source or target"
    )


@pytest.mark.parametrize("key", ["hunter2", "pass.word", "a.b.c.d.topics", "include", ""])
def test_other_keys_are_left_alone(key: str) -> None:
    assert advice(key, "x", "source") is None


def test_each_name_leads_to_a_key_that_is_there() -> None:
    ours = {".".join(place) for place, _ in walk(LinkConfig)}
    for theirs, name in NAMES.items():
        assert not name.ours or f"{'source.' * name.side}{name.ours}" in ours, theirs
        assert name.ours or name.why, theirs


def test_a_name_is_shown_whole_with_its_place(write: Write) -> None:
    path = write(
        "source: {bootstrap.servers: a:9092}\ntarget: {bootstrap: b:1}\nlink: x\n"
        'topics: "a.*"\nconsumer_groups: [g]\n'
    )
    assert [str(problem) for problem in check(path)] == [
        f"{path}:1:1: source.bootstrap: is required",
        f"{path}:1:10: source.bootstrap.servers: bootstrap.servers is called source.bootstrap here;"
        ' write `bootstrap: "a:9092"` in source',
        f"{path}:4:9: topics: must be a mapping of keys to values, not a text; topics is called"
        " topics.include here; write `topics: {include: ['a.*']}`",
        f"{path}:5:1: consumer_groups: consumer_groups has no counterpart here: write"
        " `groups: {}`, which brings over the offsets of all consumer groups",
    ]


def test_what_is_to_be_written_is_yaml() -> None:
    for key, value, _ in ADVICE:
        text = advice(key, value, "source") or ""
        for part in text.split("`")[1::2]:
            if part.startswith(("towpath", "tls`")) or "..." in part:
                continue
            ruamel.yaml.YAML(typ="safe", pure=True).load(part)
