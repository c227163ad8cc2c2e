"""The link that does what a file of Redpanda Connect asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.clusters.certificates import Authority
from tests.support.copying.connect_file import BASIC
from towpath.mirror.connect.convert import convert
from towpath.mirror.connect.load import check as check_connect
from towpath.mirror.connect.load import examine, name_of, notes, translation
from towpath.model.target_kinds import TargetKind
from towpath.settings import LinkConfig, check, from_tree

HEADERS = {
    "provenance": "redpanda-migrator-provenance",
    "offset": "redpanda-migrator-offset",
}
FROM_TARGET = [{"name": "from-target", "provenance": "redpanda-migrator-provenance"}]


def tree_of(folder: Path, text: str) -> dict[str, Any]:
    path = folder / "connect.yaml"
    path.write_text(text)
    found = examine(path)
    assert found.problems == ()
    assert found.file is not None
    made = translation(found)
    assert made.problems == ()
    assert isinstance(from_tree(made.tree, folder), LinkConfig)
    return made.tree


def test_the_basic_migration_becomes_a_link(tmp_path: Path) -> None:
    assert tree_of(tmp_path, BASIC) == {
        "source": {"bootstrap": ["source:9092"]},
        "target": {"bootstrap": ["destination:9092"]},
        "link": "default",
        "topics": {"include": ["orders", "payments"]},
        "records": {"start": "committed", "group": "migration", "commit": "5s"},
        "groups": {"interval": "60s", "exclude": ["migration"]},
        "changes": [{"topics": [".*"], "drop": FROM_TARGET, "redpanda": HEADERS}],
    }


def test_names_with_a_prefix(tmp_path: Path) -> None:
    text = BASIC.replace("topic: ${!", "topic: prod_${!")
    assert tree_of(tmp_path, text)["topics"]["rename"] == "prod_{topic}"


@pytest.mark.parametrize("topics", ["topics: [orders]", 'regexp_topics_include: ["^orders$"]'])
def test_one_topic_may_get_a_name_of_its_own(tmp_path: Path, topics: str) -> None:
    text = BASIC.replace('topics: ["orders", "payments"]', topics)
    made = tree_of(tmp_path, text.replace("${! @kafka_topic }", "orders_v2"))
    assert made["topics"]["rename"] == "orders_v2"


def test_names_made_by_an_expression(tmp_path: Path) -> None:
    text = BASIC.replace("${! @kafka_topic }", '\'${! @kafka_topic.replace_all(".", "-") }\'')
    made = tree_of(tmp_path, text)
    config = from_tree(made, tmp_path)
    assert config.topics.target_name("a.b") == "a-b"
    assert not config.topics.keeps_names
    assert not config.topics.names_alike


REGISTRIES = BASIC.replace(
    "output:", '    schema_registry: {url: "http://source-registry:8081"}\noutput:'
)


def test_schemas_with_new_ids(tmp_path: Path) -> None:
    text = f"""{REGISTRIES}
    schema_registry:
      url: "http://dest-registry:8081"
      translate_ids: true  # Create-or-reuse mode
      versions: all        # Migrate all versions
"""
    assert tree_of(tmp_path, text)["schemas"] == {
        "source": {"url": "http://source-registry:8081"},
        "target": {"url": "http://dest-registry:8081"},
        "versions": "all",
        "ids": "translate",
        "normalize": False,
        "strict": False,
        "max_requests": 10,
        "interval": "300s",
    }


def test_subjects_that_are_chosen_and_renamed(tmp_path: Path) -> None:
    text = f"""{REGISTRIES}
    schema_registry:
      url: "http://dest-registry:8081"
      subject: prod_${{! @schema_registry_subject }}
      include: ["^eu"]
      exclude: ["tmp$"]
      include_deleted: true
      interval: 0s
"""
    made = tree_of(tmp_path, text)["schemas"]
    assert made["rename"] == "prod_{subject}"
    assert (made["include"], made["exclude"]) == ([".*(?:^eu).*"], [".*(?:tmp$).*"])
    assert (made["deleted"], made["interval"]) == ("keep", "86400s")


def test_groups_that_are_chosen(tmp_path: Path) -> None:
    text = f"""{BASIC}
    consumer_groups:
      interval: 1m
      include: ["app-.*"]      # Only app- prefixed groups
      exclude: ["migration"]   # Exclude migrator itself
      only_empty: true         # Only Empty state groups
"""
    made = tree_of(tmp_path, text)
    assert made["groups"] == {
        "interval": "60s",
        "include": [".*(?:app-.*).*"],
        "exclude": ["migration", ".*(?:migration).*"],
        "states": "empty",
    }
    groups = from_tree(made, tmp_path).groups
    assert groups is not None
    assert [groups.matches(each) for each in ("my-app-1", "app-1", "x", "migration")] == [
        True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("off", ["{enabled: false}", "{interval: 0s}"])
def test_groups_that_are_not_wanted(tmp_path: Path, off: str) -> None:
    made = tree_of(tmp_path, f"{BASIC}\n    consumer_groups: {off}\n")
    assert "groups" not in made
    written = made["changes"][0]["redpanda"]["offset"]
    assert bool(written) is (off == "{interval: 0s}")  # as Connect does


def test_serverless_says_the_kind_of_target_and_strips_schemas(tmp_path: Path) -> None:
    text = f"""{REGISTRIES}
    serverless: true  # Restrict configs to serverless subset
    topic_replication_factor: 3
    schema_registry:
      url: "https://serverless.redpanda.com:8081"
      translate_ids: true
"""
    made = tree_of(tmp_path, text)
    assert made["target"] == {"bootstrap": ["destination:9092"], "kind": "serverless"}
    assert from_tree(made, tmp_path).target.said_kind is TargetKind.SERVERLESS
    assert "replication_factor" not in made["topics"]
    path = tmp_path / "connect.yaml"
    assert "topic_replication_factor has no effect with `serverless: true`" in notes(path)
    assert made["schemas"]["target"]["kind"] == "serverless"
    assert made["schemas"]["metadata"] == made["schemas"]["rules"] == "strip"


def test_acls_replication_and_codec_are_taken_over(tmp_path: Path) -> None:
    text = f"""{BASIC}
    sync_topic_acls: true
    topic_replication_factor: 2
    compression: zstd
"""
    made = tree_of(tmp_path, text)
    assert (made["access"], made["topics"]["replication_factor"]) == ({"acls": "safe"}, 2)
    assert made["changes"][0]["codec"] == "zstd"


def test_records_that_stay_as_they_are(tmp_path: Path) -> None:
    text = f'{BASIC}\n    provenance_header: ""\n    offset_header: ""\n'
    assert "changes" not in tree_of(tmp_path, text)


def test_a_mapping_sees_what_mappings_before_it_have_set_and_not_what_it_sets_itself(
    tmp_path: Path,
) -> None:
    text = f"""{BASIC}
    provenance_header: ""
    offset_header: ""
pipeline:
  processors:
    - mapping: |
        meta kind = @kafka_topic
        root = if @kind == "of-the-record" {{ deleted() }}
    - mapping: 'root = if @kind == "payments" {{ deleted() }}'
"""
    made = tree_of(tmp_path, text)
    assert made["topics"]["exclude"] == ["(?=payments$).*"]
    [change] = made["changes"]
    assert change["drop"] == [{"header": {"name": "kind", "equals": ["of-the-record"]}}]
    assert not any("no effect" in each for each in notes(tmp_path / "connect.yaml"))


def test_what_a_mapping_makes_of_metadata_that_no_rule_can_ask_for_is_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "connect.yaml"
    path.write_text(
        f"""{BASIC}
pipeline:
  processors:
    - mapping: meta kind = @kafka_topic.uppercase()
    - mapping: 'root = if @kind == "PAYMENTS" {{ deleted() }}'
"""
    )
    [problem] = check_connect(path)
    assert problem.path == "pipeline.processors[1].mapping"
    assert "compares something else" in problem.text


SERVED = {
    "http: {}": "0.0.0.0:4195",
    "metrics: {prometheus: {}}": "0.0.0.0:4195",
    'http: {address: "127.0.0.1:9"}': "127.0.0.1:9",
    'http: {address: ":9"}': "0.0.0.0:9",
    "http: {enabled: false}": None,
    "metrics: {none: {}}": None,
    "": None,
}


@pytest.mark.parametrize("more", SERVED)
def test_metrics_are_served_where_the_file_asks_for_them(tmp_path: Path, more: str) -> None:
    made = tree_of(tmp_path, f"{BASIC}\n{more}\n")
    assert made.get("metrics", {}).get("listen") == SERVED[more]


def test_what_mappings_drop_becomes_a_rule(tmp_path: Path) -> None:
    text = f"""{BASIC}
pipeline:
  processors:
    - mapping: |
        root = if @kafka_topic == "orders" && @kafka_timestamp_ms < 1700000000000 {{ deleted() }}
    - log: {{message: seen}}
"""
    dropping, rest = tree_of(tmp_path, text)["changes"]
    assert (dropping["topics"], rest["topics"]) == (["(?=orders$).*"], [".*"])
    assert dropping["drop"] == [*FROM_TARGET, {"before": "2023-11-14T22:13:20.000+00:00"}]
    assert dropping["redpanda"] == rest["redpanda"] == HEADERS


def test_topics_that_a_mapping_drops_as_a_whole(tmp_path: Path) -> None:
    text = f"""{BASIC}
pipeline:
  processors:
    - bloblang: 'root = if @kafka_topic.has_suffix("s") {{ deleted() }}'
"""
    topics = from_tree(tree_of(tmp_path, text), tmp_path).topics
    assert not topics.matches("orders")
    assert not topics.matches("payments")


def test_headers_of_ones_own(tmp_path: Path) -> None:
    text = f"""{BASIC}
    headers:
      team: blue
      origin: ${{! @kafka_topic }}
      when: ${{! metadata("kafka_timestamp_ms") }}
      redpanda-migrator-offset: mine
"""
    assert tree_of(tmp_path, text)["changes"][0]["headers"] == [
        {"name": "team", "value": "blue"},
        {"name": "origin", "of": "topic"},
        {"name": "when", "of": "timestamp"},
    ]


PATTERNS = {
    "^eu\\.": (["eu.orders"], ["my-eu.orders"]),
    "orders": (["orders", "my-orders-2"], ["order"]),
    "(?i)ORDERS$": (["my-orders"], ["orders-2"]),
    "^a{1,2}$": (["a", "aa"], ["aaa"]),
    "foo(?:bar)": (["foobar1"], ["foo"]),
    "^[[:alpha:]]+$": (["orders"], ["a1", ":]", "o]"]),
    "(?U)^eu": (["eu.a"], ["us.eu"]),
    "(?i)^EU": (["eu.a"], ["us.eu"]),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_find_parts_of_names(tmp_path: Path, pattern: str) -> None:
    text = BASIC.replace('topics: ["orders", "payments"]', f"regexp_topics_include: ['{pattern}']")
    topics = from_tree(tree_of(tmp_path, text), tmp_path).topics
    found, left = PATTERNS[pattern]
    assert all(map(topics.matches, found))
    assert not any(map(topics.matches, left))


def test_brokers_with_commas_and_without_ports(tmp_path: Path) -> None:
    text = BASIC.replace('["source:9092"]', '["a,b:9093", "c"]')
    assert tree_of(tmp_path, text)["source"] == {"bootstrap": ["a:9092", "b:9093", "c:9092"]}


def test_topics_with_commas_are_several(tmp_path: Path) -> None:
    text = BASIC.replace('["orders", "payments"]', '["orders,payments", returns]')
    assert tree_of(tmp_path, text)["topics"]["include"] == ["orders", "payments", "returns"]


def test_a_link_is_named_after_its_label_and_both_clusters() -> None:
    name = name_of("orders", "one", "two")
    assert name.startswith("orders-")
    assert len({name, name_of("orders", "two", "one"), name_of("orders", "on", "etwo")}) == 3
    assert name == name_of("orders", "one", "two")


LOGIN = BASIC.replace(
    "topics:",
    "sasl: [{mechanism: SCRAM-SHA-256, username: bob, password: hunter-2}]\n    topics:",
).replace(
    "topic: $",
    """sasl:
      - mechanism: PLAIN
        username: ${NAME:eve}
        password: ${PASS_WORD}
    topic: $""",
)


def test_certificates_may_be_texts_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path / "ca")
    client, other = authority.issue("client"), authority.issue("other")
    monkeypatch.setenv("CA", authority.certificate.read_text())
    monkeypatch.setenv("CERT", client.certificate.read_text())
    monkeypatch.setenv("KEY", client.key.read_text())
    text = BASIC.replace(
        "topics:",
        'tls: {enabled: true, root_cas: "${CA}",'
        ' client_certs: [{cert: "${CERT}", key: "${KEY}"}]}\n    topics:',
    )
    tls = tree_of(tmp_path, text)["source"]["tls"]
    assert tls["cert"].text.reveal().strip() == client.certificate.read_text().strip()
    assert tls["ca"].text.reveal().strip() == authority.certificate.read_text().strip()
    made = convert(tmp_path / "connect.yaml", "moved")
    assert "-----BEGIN" not in made.text + repr(made)
    names = {f"source_{name}.pem" for name in ("root_cas", "cert", "key")}
    written = YAML(typ="safe", pure=True).load(made.text)["source"]["tls"]
    assert set(written.values()) == names
    assert all(any(name in note for note in made.notes) for name in names)
    monkeypatch.setenv("KEY", other.key.read_text())
    path = tmp_path / "connect.yaml"
    assert "certificate and key do not belong together" in str(check(path))
    monkeypatch.setenv("KEY", "none")
    place = "input.redpanda_migrator.tls.client_certs[0].key"
    assert f"{place}: holds no PEM block" in next(iter(check(path))).sentence


def test_a_converted_file_is_a_link_and_holds_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "connect.yaml"
    path.write_text(LOGIN)
    made = convert(path, "moved")
    assert "hunter-2" not in made.text + repr(made)
    place = "input.redpanda_migrator.sasl[0].password"
    assert made.secrets == (("SOURCE_PASSWORD", place),)
    tree = YAML(typ="safe", pure=True).load(made.text)
    source, target = tree["source"]["sasl"], tree["target"]["sasl"]
    assert source == {**source, "username": "bob", "password": "env:SOURCE_PASSWORD"}
    assert target == {"mechanism": "PLAIN", "username": "eve", "password": "env:PASS_WORD"}
    ours = tmp_path / "ours.yaml"
    ours.write_text(made.text)
    assert check(ours, with_environment=False) == ()
