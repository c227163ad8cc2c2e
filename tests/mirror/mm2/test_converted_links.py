"""Our files from MirrorMaker 2's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.here import Here
from towpath.mirror.mm2.converted_links import Conversion, convert
from towpath.mirror.mm2.flows import Fate
from towpath.model.errors import ConfigError
from towpath.settings import load

HEAD = """
clusters = us, eu
us.bootstrap.servers = us-1:9092,us-2:9092
eu.bootstrap.servers = eu-1:9093
us->eu.enabled = true
"""
QUOTED = r"""hunter2;\"x"""
SECURE = rf"""
us.security.protocol = SASL_SSL
us.sasl.mechanism = SCRAM-SHA-512
us.sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required \
    username="mirror" \
    password="{QUOTED}";
us.ssl.truststore.location = /etc/kafka/us.jks
us.ssl.truststore.password = changeit-7
"""


def made(text: str) -> Conversion:
    return convert(HEAD + text, "mm2.properties")


def tree(text: str, number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe", pure=True).load(made(text).files[number].text)
    return found


def fates(text: str) -> dict[str, str]:
    return {fact.key: str(fact.fate) for fact in made(text).facts}


def fact(text: str, key: str) -> str:
    [found] = [each for each in made(text).facts if each.key == key]
    return f"{found.fate}: {found.text}"


def test_the_least_file_asks_for_what_mirror_maker_does() -> None:
    assert tree("") == {
        "source": {"bootstrap": "us-1:9092,us-2:9092"},
        "target": {"bootstrap": "eu-1:9093"},
        "link": "us-to-eu",
        "topics": {
            "include": [".*"],
            "exclude": [
                r".*\.replica",
                r"mm2.*\.internal",
                r".*\.checkpoints\.internal",
                "__.*",
                r"\..*",
                r"(.*\.)?eu\..*",
                "heartbeats",
                r".*\.heartbeats",
            ],
            "rename": "us.{topic}",
        },
        "access": {"acls": "safe"},
        "groups": {
            "include": [".*"],
            "exclude": ["console-consumer-.*", "connect-.*", "__.*"],
            "mm2": {
                "alias": "eu",
                "source_alias": "us",
                "topics": ["checkpoints", "offset_syncs", "heartbeats"],
            },
        },
    }
    assert set(fates("").values()) == {"taken over", "not needed"}


def test_a_property_of_the_flow_counts_before_one_for_all_flows() -> None:
    text = "topics = a\nus->eu.topics = b, c.*\nreplication.factor = 2\ntopics.exclude = d"
    found = tree(text)["topics"]
    assert (found["include"], found["replication_factor"]) == (["b", "c.*"], 2)
    assert found["exclude"][0] == "d"
    assert fates(text)["us->eu.topics"] == "taken over"


def test_each_enabled_flow_gets_a_file() -> None:
    text = "eu->us.enabled = true\neu->us.topics = back"
    both = made(text).files
    assert [str(each.flow) for each in both] == ["us->eu", "eu->us"]
    assert tree(text, 1)["topics"]["include"] == ["back"]
    assert tree(text, 1)["source"] == {"bootstrap": "eu-1:9093"}


def test_policies_and_separators_become_names_of_topics() -> None:
    identity = (
        "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
    )
    assert tree(identity)["topics"]["rename"] == "{topic}"
    between = "replication.policy.separator = -\n"
    dashed = tree(f"{between}replication.policy.internal.topic.separator.enabled = false")
    assert dashed["topics"]["rename"] == "us-{topic}"
    assert dashed["topics"]["exclude"][5] == r"(.*\-)?eu\-.*"
    assert (dashed["groups"]["mm2"]["separator"]) == "-"
    assert not dashed["groups"]["mm2"]["internal_separator"]
    own = "replication.policy.class = com.example.Policy"
    assert fact(own, "replication.policy.class").startswith("no equal: a Java class cannot run")


@pytest.mark.parametrize(
    ("topics", "named"),
    [
        ("orders, eu.sales", "eu.sales"),
        (r"eu\\.sales, shop.eu.bills", r"eu\.sales, shop.eu.bills"),
        ("orders, europe.sales, .*", ""),
    ],
)
def test_topics_that_are_taken_for_copies_by_their_names_are_told(topics: str, named: str) -> None:
    (file,) = made(f"topics = {topics}").files
    told = [each for each in file.notes if "for a copy from eu" in each]
    assert len(told) == bool(named)
    assert all(f" takes {named} for" in each and r"`(.*\.)?eu\..*`" in each for each in told)
    assert tree(f"topics = {topics}")["topics"]["exclude"].count(r"(.*\.)?eu\..*") == 1


def test_switches_turn_sections_on_and_off() -> None:
    off = tree(
        "emit.checkpoints.enabled = false\nsync.topic.acls.enabled = false\n"
        "sync.topic.configs.enabled = false"
    )
    assert "groups" not in off
    assert "access" not in off
    assert off["topics"]["configs"] == {"exclude": [".*"]}
    some = tree(
        "sync.group.offsets.enabled = true\nsync.group.offsets.interval.seconds = 20\n"
        "emit.heartbeats.enabled = false\ngroups = shop.*\nrefresh.topics.interval.seconds = 60\n"
        "us.consumer.auto.offset.reset = latest\nus.consumer.client.rack = r1"
    )
    assert some["groups"]["include"] == ["shop.*"]
    assert some["groups"]["interval"] == "20s"
    assert some["groups"]["mm2"]["topics"] == ["checkpoints", "offset_syncs"]
    assert some["run"] == {"discover": "60s"}
    assert some["records"] == {"start": "latest"}
    assert some["source"]["rack"] == "r1"


def test_secrets_become_references_and_are_told_by_name_alone() -> None:
    found = made(SECURE)
    [file] = found.files
    assert tree(SECURE)["source"] == {
        "bootstrap": "us-1:9092,us-2:9092",
        "tls": {"ca": "us-ca.pem"},
        "sasl": {"mechanism": "SCRAM-SHA-512", "username": "mirror", "password": "env:US_PASSWORD"},
    }
    assert list(map(str, file.secrets)) == ["export US_PASSWORD: password of us.sasl.jaas.config"]
    everything = repr(found) + file.text
    assert not any(secret in everything for secret in ("hunter2", "changeit-7"))
    store = fact(SECURE, "us.ssl.truststore.location")
    assert store.startswith(
        "taken over, after a step by hand: make a PEM file of it: keytool -list"
    )


@pytest.mark.parametrize(
    ("provider", "value", "reference"),
    [
        ("EnvVarConfigProvider", "${p:US_PW}", "env:US_PW"),
        ("DirectoryConfigProvider", "${p:/run/secrets:pw}", "file:/run/secrets/pw"),
        ("FileConfigProvider", "${p:/etc/us.properties:pw}", "env:US_PASSWORD"),
    ],
)
def test_references_of_mirror_maker_stay_references(
    provider: str, value: str, reference: str
) -> None:
    text = (
        f"config.providers = p\nconfig.providers.p.class = org.apache.kafka.config.{provider}\n"
        "security.protocol = SASL_PLAINTEXT\nsasl.mechanism = PLAIN\nus.sasl.jaas.config = "
        "org.apache.kafka.common.security.plain.PlainLoginModule required"
        f' username="mirror" password="{value}";'
    )
    assert tree(text)["source"]["sasl"]["password"] == reference


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("us.security.protocol = SSL", {"tls": True}),
        (
            "us.security.protocol = SSL\nus.ssl.truststore.type = PEM\n"
            "us.ssl.truststore.location = /ca.txt\nus.ssl.keystore.location = us.pem\n"
            "us.ssl.key.password = x\nus.ssl.endpoint.identification.algorithm =",
            {
                "tls": {
                    "ca": "/ca.txt",
                    "cert": "us.pem",
                    "key_password": "env:US_KEY_PASSWORD",
                    "verify_hostname": False,
                }
            },
        ),
        (
            "us.security.protocol = SASL_SSL\nus.sasl.mechanism = AWS_MSK_IAM",
            {"tls": True, "sasl": {"mechanism": "AWS_MSK_IAM"}},
        ),
        (
            "us.security.protocol = SASL_PLAINTEXT\nus.sasl.kerberos.service.name = broker",
            {"sasl": {"mechanism": "GSSAPI", "service_name": "broker"}},
        ),
        (
            "us.security.protocol = SASL_SSL\nus.sasl.mechanism = OAUTHBEARER",
            {"tls": True, "sasl": {"mechanism": "OAUTHBEARER", "token_command": ["COMMAND"]}},
        ),
    ],
)
def test_logins_become_sections_of_a_cluster(text: str, section: dict[str, Any]) -> None:
    found = tree(text)["source"]
    del found["bootstrap"]
    assert found == section


@pytest.mark.parametrize(
    ("line", "fate"),
    [
        ("tasks.max = 4", Fate.NEEDLESS),
        ("us.consumer.fetch.max.bytes = 1", Fate.NEEDLESS),
        ("us->eu.producer.override.linger.ms = 1", Fate.NEEDLESS),
        ("offset.lag.max = 0", Fate.NEEDLESS),
        ("offset-syncs.topic.location = target", Fate.NEEDLESS),
        ("offset-syncs.topic.location = source", Fate.NO_EQUAL),
        ("transforms = t", Fate.NO_EQUAL),
        ("topic.filter.class = x.Y", Fate.NO_EQUAL),
        ("us.consumer.isolation.level = read_committed", Fate.NEEDLESS),
        ("us.consumer.isolation.level = read_uncommitted", Fate.NO_EQUAL),
        ("refresh.topics.enabled = false", Fate.NO_EQUAL),
        ("refresh.topics.enabled = true", Fate.NEEDLESS),
        ("eu->us.topics = x", Fate.NEEDLESS),
        ("topics = (?<a>\\\\p{Lower}+)", Fate.NO_EQUAL),
        ("nobody.knows.this = s3cret-7", Fate.NO_EQUAL),
        ("key.converter = org.apache.kafka.connect.converters.ByteArrayConverter", Fate.NEEDLESS),
        ("key.converter = org.apache.kafka.connect.json.JsonConverter", Fate.NO_EQUAL),
    ],
)
def test_each_property_is_told(line: str, fate: Fate) -> None:
    key = line.partition(" =")[0]
    [found] = [each for each in made(line).facts if each.key == key]
    assert (found.fate, bool(found.text)) == (fate, True)
    assert "s3cret-7" not in found.text


def test_what_is_no_file_of_mirror_maker_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"x: enables no flow; .* us->eu.enabled = true"):
        convert("clusters = us, eu", "x")
    with pytest.raises(ConfigError, match=r"x: is not a properties file: line 1"):
        convert("a = \\u1", "x")


def test_files_are_written_and_are_right_and_never_overwritten(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "connect-mirror.properties"
    plain = SECURE.replace("SASL_SSL", "SASL_PLAINTEXT")
    theirs.write_text(HEAD + plain + "us.admin.metric.reporters = x")
    done = here("import", "mm2", str(theirs), "--into", str(tmp_path), "-o", "json")
    assert done.code == 3
    [file] = done.json["files"]
    assert file["problems"] == []
    assert file["secrets"][0]["variable"] == "US_PASSWORD"
    monkeypatch.setenv("US_PASSWORD", "something")
    assert load(tmp_path / "us-to-eu.yaml").link == "us-to-eu"
    again = here("import", "mm2", str(theirs), "--into", str(tmp_path))
    assert (again.code, "already exists" in again.said) == (2, True)
    told = here("import", "mm2", str(theirs), "--into", str(_folder(tmp_path)))
    assert "No equal here:" in told.out
    assert "us.admin.metric.reporters" in told.out
    assert "hunter2" not in done.said + again.said + told.said


def _folder(above: Path) -> Path:
    made = above / "new"
    made.mkdir()
    return made
