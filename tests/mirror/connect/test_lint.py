"""What `towpath lint` says about files of Redpanda Connect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.copying.connect_file import written
from towpath.mirror.connect.convert import convert
from towpath.mirror.connect.load import check, notes
from towpath.model.errors import ConfigError
from towpath.settings import check as check_any
from towpath.settings.connect_files import is_connect

REGISTRY = '{url: "http://one:8081"}'
OTHER = '{url: "http://two:8081"%s}'


ACCEPTED = {
    "no registry": ({}, {}),
    "both registries": ({"schema_registry": REGISTRY}, {"schema_registry": OTHER % ""}),
    "the source's registry alone": ({"schema_registry": REGISTRY}, {}),
    "strict with new ids": (
        {"schema_registry": REGISTRY},
        {"schema_registry": OTHER % ", strict: true, translate_ids: true"},
    ),
    "patterns": ({"topics": "", "regexp_topics_include": '["^eu"]'}, {}),
    "patterns without what they exclude": (
        {"topics": "", "regexp_topics_include": '["."]', "regexp_topics_exclude": '["tmp$"]'},
        {},
    ),
    "old patterns": ({"topics": '["^eu", "us"]', "regexp_topics": "true"}, {}),
    "no group": ({"consumer_group": '""'}, {}),
    "no headers": ({}, {"provenance_header": '""', "offset_header": '""'}),
    "a header": ({}, {"headers": '{from: "${! @kafka_topic }", team: blue}'}),
    "durations and sizes": ({"fetch_max_wait": "1m30s", "fetch_max_bytes": "64MiB"}, {}),
    "plain names": ({}, {"topic": "prod_${! @kafka_topic }"}),
    "expressions": ({}, {"topic": '\'${! @kafka_topic.replace_all(".", "_") }\''}),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_right_has_no_problem(tmp_path: Path, case: str) -> None:
    path = written(tmp_path, *ACCEPTED[case])
    assert is_connect(path)
    assert check_any(path) == check(path) == ()


CONNECTION = {
    "client_id": "redpanda-connect",
    "tls": "{enabled: false, skip_cert_verify: false, enable_renegotiation: false, root_cas: '',"
    " root_cas_file: '', client_certs: []}",
    "sasl": "[]",
    "metadata_max_age": "1m",
    "request_timeout_overhead": "10s",
    "conn_idle_timeout": "20s",
    "tcp": "{connect_timeout: 0s, keep_alive: {idle: 15s, interval: 15s, count: 9},"
    " tcp_user_timeout: 0s}",
}
LOGINS = (
    "timeout: 5s, tls: {enabled: false}, basic_auth: {enabled: false, username: '', password: ''},"
    " oauth: {enabled: false, consumer_key: '', consumer_secret: '', access_token: '',"
    " access_token_secret: ''}, jwt: {enabled: false, private_key_file: '', signing_method: '',"
    " claims: {}, headers: {}}"
)
ALL_IN = CONNECTION | {
    "regexp_topics": "false",
    "rack_id": '""',
    "instance_id": '""',
    "rebalance_timeout": "45s",
    "session_timeout": "1m",
    "heartbeat_interval": "3s",
    "start_from_oldest": "true",
    "start_offset": "earliest",
    "fetch_max_bytes": "50MiB",
    "fetch_max_wait": "5s",
    "fetch_min_bytes": "1B",
    "fetch_max_partition_bytes": "1MiB",
    "transaction_isolation_level": "read_uncommitted",
    "commit_period": "5s",
    "partition_buffer_bytes": "1MB",
    "max_yield_batch_bytes": "32KB",
    "topic_lag_refresh_period": "5s",
    "auto_replay_nacks": "true",
    "schema_registry": f'{{url: "http://one:8081", {LOGINS}}}',
}
ALL_OUT = CONNECTION | {
    "idempotent_write": "true",
    "acks": "all",
    "compression": "snappy",
    "allow_auto_topic_creation": "true",
    "timeout": "10s",
    "max_message_bytes": "1MiB",
    "broker_write_max_bytes": "100MiB",
    "max_buffered_records": "10000",
    "max_buffered_bytes": "0",
    "max_in_flight_requests": "1",
    "record_retries": "0",
    "record_delivery_timeout": "0s",
    "consumer_groups": "{enabled: true, interval: 1m, fetch_timeout: 10s, include: [], exclude: [],"
    " only_empty: false}",
    "topic": '"${! @kafka_topic }"',
    "topic_replication_factor": "3",
    "sync_topic_interval": "5m",
    "sync_topic_acls": "false",
    "serverless": "false",
    "headers": "{}",
    "provenance_header": "redpanda-migrator-provenance",
    "offset_header": "redpanda-migrator-offset",
    "max_in_flight": "10",
    "schema_registry": f'{{url: "http://two:8081", {LOGINS}, enabled: true, interval: 5m,'
    " include: [], exclude: [], subject: '${! @schema_registry_subject }', versions: all,"
    " include_deleted: false, translate_ids: false, normalize: false, strict: false,"
    " max_parallel_http_requests: 10}",
}


def test_all_fields_of_both_sides_are_taken(tmp_path: Path) -> None:
    path = written(tmp_path, ALL_IN, ALL_OUT)
    assert check_any(path) == check(path) == ()
    told = " ".join(notes(path))
    for field in ("input.auto_replay_nacks", "output.record_retries", "output.sync_topic_interval"):
        assert field in told, "nothing depends on it, and that is said"
    large = {"auto_replay_nacks": "false", "fetch_max_bytes": "300MiB"}
    path = written(tmp_path, ALL_IN | large, ALL_OUT | {"max_message_bytes": "64MiB"})
    assert check(path) == ()


IN, OUT = "input.redpanda_migrator", "output.redpanda_migrator"
SET_ITSELF = "is set by the migrator itself, which keeps it as at the source"
REFUSED: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    **{
        name: ({}, {name: '"x"'}, f"{OUT}.{name}: {SET_ITSELF}")
        for name in ("key", "partitioner", "partition", "timestamp", "timestamp_ms")
    },
    "strict": (
        {"schema_registry": REGISTRY},
        {"schema_registry": OTHER % ", strict: true"},
        f"{OUT}.schema_registry.strict: needs `translate_ids: true`",
    ),
    "the target's registry alone": (
        {},
        {"schema_registry": OTHER % ""},
        f"{IN}.schema_registry: is required where the output has one: that is where schemas come"
        " from",
    ),
    "one registry": (
        {"schema_registry": REGISTRY},
        {"schema_registry": REGISTRY},
        f"{OUT}.schema_registry.url: is that of the source, too",
    ),
    "both ways to name topics": (
        {"regexp_topics_include": '["x"]'},
        {},
        f"{IN}.topics: is not used with regexp_topics_include; give one",
    ),
    "no topics": (
        {"topics": ""},
        {},
        f"{IN}.topics: is required, or else regexp_topics_include",
    ),
    "what is excluded from no patterns": (
        {"regexp_topics_exclude": '["x"]'},
        {},
        f"{IN}.regexp_topics_exclude: is used where topics are named by regular expressions"
        " (regexp_topics_include)",
    ),
    "two starts": (
        {"start_from_oldest": "false"},
        {},
        f"{IN}.start_from_oldest: contradicts `start_offset: earliest`, the default; write"
        " `start_offset: latest`",
    ),
    "partitions": (
        {"topics": '["orders:0-3"]', "consumer_group": '""'},
        {},
        f"{IN}.topics: orders:0-3 names partitions; Towpath mirrors whole topics: name the topic",
    ),
    "no group": (
        {"consumer_group": ""},
        {},
        f'{IN}.consumer_group: is required where whole topics are read; write "" to begin without a'
        " group",
    ),
    "a start without a group": (
        {"start_offset": "committed", "consumer_group": '""'},
        {},
        f"{IN}.start_offset: `committed` needs a consumer_group, at whose commits copying begins",
    ),
    "what the file of a link refuses": (
        {},
        {"topic_replication_factor": "0"},
        f"{OUT}.topic_replication_factor: 0 is not between 1 and 32767",
    ),
    "brokers that are none": (
        {"seed_brokers": '["a:b:c"]'},
        {},
        f"{IN}.seed_brokers: 'a:b:c' is not HOST:PORT, such as broker1:9092; an IPv6 address"
        " stands in brackets, such as [::1]:9092",
    ),
    "acks": ({}, {"acks": "leader"}, f"{OUT}.acks: must be all with `idempotent_write: true`"),
    "requests": (
        {},
        {"max_in_flight_requests": "2"},
        f"{OUT}.max_in_flight_requests: must be 1 with `idempotent_write: true`",
    ),
    "batches": (
        {},
        {"max_message_bytes": "4GiB"},
        f"{OUT}.max_message_bytes: is above 2147483647, which a batch cannot have",
    ),
    "other versions": (
        {"schema_registry": REGISTRY},
        {"schema_registry": OTHER % ", versions: newest"},
        f"{OUT}.schema_registry.versions: 'newest' is not one of all, latest",
    ),
    "no requests to a registry": (
        {"schema_registry": REGISTRY},
        {"schema_registry": OTHER % ", max_parallel_http_requests: 0"},
        f"{OUT}.schema_registry.max_parallel_http_requests: 0 is too small; write at least 1",
    ),
    "a version in a subject": (
        {"schema_registry": REGISTRY},
        {"schema_registry": OTHER % ", subject: '${! @schema_registry_version }'"},
        f"{OUT}.schema_registry.subject: asks for @schema_registry_version; versions of a subject"
        " stay together, or compatibility would mean nothing",
    ),
    "no name": ({}, {"topic": '""'}, f"{OUT}.topic: must not be empty"),
    "a version in a topic's name": (
        {},
        {"topic": "${! @kafka_topic }-${! @schema_registry_version }"},
        f"{OUT}.topic: asks for @schema_registry_version; a name is made of @kafka_topic",
    ),
    "one name for all": (
        {"topics": "[a, b]"},
        {"topic": "all"},
        f"{OUT}.topic: would give everything one name; use ${{! @kafka_topic }}",
    ),
    "another name": (
        {},
        {"topic": "x-${! @kafka_partition }"},
        f"{OUT}.topic: asks for @kafka_partition; a name is made of @kafka_topic",
    ),
    "no expression": (
        {},
        {"topic": '"${! @kafka_topic | replace(1, 2) }"'},
        f"{OUT}.topic: the function replace is not known here; a method stands behind its value, as"
        ' in @kafka_topic.replace_all("a", "b"); `|` only says what to take where a value is'
        " missing",
    ),
    "unsafe tls": (
        {},
        {"tls": "{enabled: true, skip_cert_verify: true}"},
        f"{OUT}.tls.skip_cert_verify: is refused: anyone could answer; name the authority with"
        " `root_cas_file`",
    ),
    "a certificate as text and file": (
        {},
        {"tls": "{client_certs: [{cert: a, key: b, key_file: c}]}"},
        f"{OUT}.tls.client_certs[0].cert: give both as text, or both as files",
    ),
    "a certificate without key": (
        {},
        {"tls": "{client_certs: [{cert: a}]}"},
        f"{OUT}.tls.client_certs[0].cert: is needed with its `key`",
    ),
    "an unknown login": (
        {"sasl": "[{mechanism: GSSAPI}]"},
        {},
        f"{IN}.sasl[0].mechanism: 'GSSAPI' is not one of none, PLAIN, OAUTHBEARER, SCRAM-SHA-256,"
        " SCRAM-SHA-512, AWS_MSK_IAM, REDPANDA_CLOUD_SERVICE_ACCOUNT",
    ),
    "a login without password": (
        {"sasl": "[{mechanism: PLAIN, username: bob}]"},
        {},
        f"{IN}.sasl[0].password: is required by the mechanism",
    ),
    "a pattern that Python cannot read": (
        {"topics": "", "regexp_topics_include": "['\\pL+']"},
        {},
        f"{IN}.regexp_topics_include[0]: '\\\\pL+' is no regular expression that Python reads"
        " (bad escape \\p)",
    ),
    "a duration without unit": (
        {"commit_period": "5"},
        {},
        f"{IN}.commit_period: must be a duration such as 500ms, 10s or 1m, not 5",
    ),
    "a duration": (
        {"commit_period": "5 sec"},
        {},
        f"{IN}.commit_period: must be a duration such as 500ms, 10s or 1m, not '5*'",
    ),
    "an unknown field": (
        {"topic": "x"},
        {},
        f"{IN}.topic: unknown key here; it belongs into output.redpanda_migrator",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_told_where_it_stands(tmp_path: Path, case: str) -> None:
    ins, outs, told = REFUSED[case]
    [problem] = check(written(tmp_path, ins, outs))
    assert problem.sentence == told
    assert problem.spot is not None


ABOUT_ONE_FIELD = (
    {"both ways to name topics", "one name for all"},
    {"both ways to name topics", "no topics"},
    {"both ways to name topics", "what is excluded from no patterns"},
    {"both ways to name topics", "partitions"},
    {"what is excluded from no patterns", "a pattern that Python cannot read"},
    {"two starts", "a start without a group"},
)
"""Cases of which one mends the other."""


@pytest.mark.parametrize("case", REFUSED)
def test_no_problem_hides_another_one(tmp_path: Path, case: str) -> None:
    ins, outs, told = REFUSED[case]
    for other, (more_ins, more_outs, also) in REFUSED.items():
        if ins.keys() & more_ins.keys() or outs.keys() & more_outs.keys():
            continue
        if {case, other} in ABOUT_ONE_FIELD:
            continue
        found = check(written(tmp_path, ins | more_ins, outs | more_outs))
        assert {each.sentence for each in found} == {told, also}, other


@pytest.mark.parametrize(
    ("ins", "outs", "told"),
    [
        (
            {"seed_brokers": "", "start_offset": "committed", "consumer_group": '""'},
            {"seed_brokers": "", "topic": "x${! @kafka_partition }"},
            ["input.redpanda_migrator.seed_brokers", "input.redpanda_migrator.start_offset",
             "output.redpanda_migrator.seed_brokers", "output.redpanda_migrator.topic"],
        ),
        (
            {"sasl": "[{mechanism: PLAIN}, {mechanism: none}]"},
            {"sasl": "[{mechanism: 5}]", "acks": "none"},
            ["input.redpanda_migrator.sasl[0].password", "input.redpanda_migrator.sasl[1]",
             "output.redpanda_migrator.sasl[0].mechanism", "output.redpanda_migrator.acks"],
        ),
        (
            {"topics": "{a: b}", "start_from_oldest": "false"},
            {"schema_registry": "{url: 5, strict: true}"},
            ["input.redpanda_migrator.topics", "input.redpanda_migrator.start_from_oldest",
             "input.redpanda_migrator.schema_registry",
             "output.redpanda_migrator.schema_registry.url",
             "output.redpanda_migrator.schema_registry.strict"],
        ),
    ],
)  # fmt: skip
def test_what_is_required_and_missing_hides_nothing(
    tmp_path: Path, ins: dict[str, str], outs: dict[str, str], told: list[str]
) -> None:
    assert sorted(each.path for each in check(written(tmp_path, ins, outs))) == sorted(told)


def test_a_registry_on_one_side_hides_nothing_in_it(tmp_path: Path) -> None:
    registry = "{url: two, subject: all, strict: true}"
    found = check(written(tmp_path, {}, {"schema_registry": registry, "acks": "none"}))
    assert {each.path for each in found} == {
        f"{IN}.schema_registry", f"{OUT}.schema_registry.subject", f"{OUT}.schema_registry.strict",
        f"{OUT}.schema_registry.url", f"{OUT}.acks",
    }  # fmt: skip


def test_what_a_link_refuses_is_told_without_the_environment_and_by_convert(tmp_path: Path) -> None:
    group = {"consumer_group": "${NOWHERE_SET}", "rack_id": "${NOR_THIS}"}
    path = written(tmp_path, group, {"topic_replication_factor": "0"})
    [problem] = check(path, with_environment=False)
    assert problem.path == f"{OUT}.topic_replication_factor"
    with pytest.raises(ConfigError, match="0 is not between 1 and 32767"):
        convert(path, "some")


def test_other_inputs_are_named(tmp_path: Path) -> None:
    path = tmp_path / "connect.yaml"
    path.write_text("input:\n  kafka: {}\noutput:\n  redpanda_migrator:\n    seed_brokers: [b]\n")
    [problem] = check(path)
    assert (
        problem.sentence == "input: has kafka; Towpath takes the place of redpanda_migrator alone"
    )


@pytest.mark.parametrize(
    "name",
    [
        "redpanda_migrator_bundle", "redpanda_migrator_offsets", "kafka_migrator",
        "kafka_migrator_bundle", "kafka_migrator_offsets",
    ],
)  # fmt: skip
def test_names_of_the_migrator_from_before_are_told_with_those_of_now(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "connect.yaml"
    path.write_text(f"input:\n  {name}: {{}}\noutput:\n  {name}: {{topic_prefix: x}}\n")
    assert is_connect(path)
    problems = check_any(path)
    assert [each.path for each in problems] == ["input", "output"]
    assert all(f"{name} is a name of the migrator before" in each.text for each in problems)


def test_all_problems_come_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = written(
        tmp_path, {"start_offset": "now", "client_id": "5"}, {"acks": "some", "key": "k"}
    )
    assert [each.path for each in check(path)] == [
        f"{IN}.start_offset", f"{IN}.client_id", f"{OUT}.acks", f"{OUT}.key",
    ]  # fmt: skip


def test_what_is_refused_hides_nothing_else(tmp_path: Path) -> None:
    more = (
        "cache_resources: [{label: c}]\nlogger: {level: LOUD}\n"
        "pipeline: {processors: [{log: {}}, {sleep: {}}, {mapping: 'root = 5'}]}\n"
    )
    ins = {"start_offset": "now", "tpyo": "1", "commit_period": "5 parsecs"}
    outs = {"acks": "leader", "tls": "{enabled: true, skip_cert_verify: true}", "topic": '""'}
    assert [each.path for each in check(written(tmp_path, ins, outs, more))] == [
        f"{IN}.start_offset", f"{IN}.tpyo", f"{IN}.commit_period",
        f"{OUT}.acks", f"{OUT}.tls.skip_cert_verify",
        f"{OUT}.topic", "cache_resources", "logger.level", "pipeline.processors[1]",
        "pipeline.processors[2].mapping",
    ]  # fmt: skip
    [lone] = check(written(tmp_path, {}, {"acks": "leader"}, "cache_resources: [{label: c}]\n"))[:1]
    assert lone.path == f"{OUT}.acks"


def test_a_missing_variable_is_one_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOWHERE_AT_ALL", raising=False)
    path = written(
        tmp_path, {"sasl": "[{mechanism: PLAIN, username: a, password: ${NOWHERE_AT_ALL}}]"}, {}
    )
    [problem] = check(path)
    assert problem.sentence == "variable NOWHERE_AT_ALL is not set, and has no default"


def test_what_differs_from_connect_is_a_note(tmp_path: Path) -> None:
    path = written(tmp_path, {"start_offset": "latest"}, {"max_in_flight": "4"})
    first, second, third = notes(path)
    assert first.startswith("partitions in which mover has committed nothing are copied from")
    assert second.startswith("each record gets headers of the migrator")
    assert third == "not needed here: output.max_in_flight: sets up Connect's own client"
    [first, _] = notes(written(tmp_path, {"start_offset": "committed"}, {}))
    assert first.endswith("copied from their beginning, where Connect would not read them")


def test_files_of_ours_are_not_taken_for_connects(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text("link: x\n# input:\n#  redpanda_migrator:\nsource: {bootstrap: a:9092}\n")
    assert not is_connect(path)
    assert not is_connect(tmp_path / "nowhere.yaml")


def test_what_no_link_can_do_is_told_beside_all_other_problems(tmp_path: Path) -> None:
    outs = {"topic": "all_in_one", "max_in_flight": "many"}
    ins = {"rack_id": "[1]", "seed_brokers": '["${NOWHERE_SET}"]', "topics": "[a, b]"}
    path = written(tmp_path, ins, outs)
    said = [each.sentence for each in check(path)]
    assert any("rack_id" in each for each in said), said
    assert any("max_in_flight" in each for each in said), said
    assert any("variable NOWHERE_SET is not set" in each for each in said), said
    assert any("would give everything one name" in each for each in said), said
