"""What the properties of nodes say in each mode. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.kraft.decisions import next_step
from tests.support.kraft.worlds import (
    FLAG,
    at_stage,
    kraft_config,
    start_of,
    with_broker,
    with_log,
)
from tests.support.kraft.worlds import (
    broker_properties as zookeeper_file,
)
from towpath.kraft.facts.nouns import BrokerMode, Goal, NodeId, Stage
from towpath.kraft.files.changes import changes, shown_changes
from towpath.kraft.files.configs import (
    ACL_AUTHORIZER,
    IBP,
    KEPT,
    STANDARD_AUTHORIZER,
    Properties,
    broker_properties,
    controller_properties,
)
from towpath.kraft.files.kafka_versions import level_of, version_of
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Refused
from towpath.kraft.reach.commands import format_command

_CONFIG = kraft_config(brokers=2, controllers=2)
_SEEN = start_of(_CONFIG)
_VOTERS = "3000@127.0.0.1:16300,3001@127.0.0.1:16301"
_FILE = {
    **zookeeper_file(1),
    "authorizer.class.name": ACL_AUTHORIZER,
    "super.users": "User:admin",
    "zookeeper.set.acl": "true",
    "control.plane.listener.name": "CONTROL",
    "their.own": "1",
}


def _in(mode: BrokerMode, current: Properties = _FILE) -> Properties:
    made = broker_properties(_CONFIG, mode, current, _SEEN)
    assert not isinstance(made, Refused), made
    return made


def _plain(made: Properties) -> Properties:
    return {key: value for key, value in made.items() if not key.startswith(KEPT)}


def test_migration_mode_adds_the_flag_and_the_way_to_all_controllers() -> None:
    assert _plain(_in(BrokerMode.MIGRATION)) == _FILE | {
        FLAG: "true",
        "controller.quorum.voters": _VOTERS,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }


def test_kraft_mode_leaves_zookeeper() -> None:
    assert _plain(_in(BrokerMode.KRAFT)) == {
        "process.roles": "broker",
        "node.id": "1",
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": "PLAINTEXT://127.0.0.1:16001",
        "log.dirs": "/data/b1",
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:admin",
        "their.own": "1",
        "controller.quorum.voters": _VOTERS,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }


_KEYS = st.sampled_from(
    [*_FILE, "listener.security.protocol.map", "zookeeper.ssl.keystore.password", "a", "b.c"]
)
_FILES = st.dictionaries(_KEYS, st.text(max_size=5)).map(
    lambda more: {**more, "broker.id": "1", "authorizer.class.name": ""}
)


@given(_FILES, st.lists(st.sampled_from(BrokerMode), max_size=5))
def test_any_way_through_the_modes_leads_back_to_the_same_file(
    file: Properties, modes: list[BrokerMode]
) -> None:
    current = file
    for mode in modes:
        current = _in(mode, current)
        assert _in(mode, current) == current
    assert _in(BrokerMode.ZOOKEEPER, current) == file


def test_a_broker_that_was_born_in_kraft_mode_gets_what_zookeeper_mode_needs() -> None:
    seen = with_log(at_stage(_CONFIG, Stage.HYBRID), features={"metadata.version": 20})
    born = _plain(_in(BrokerMode.KRAFT))
    made = broker_properties(_CONFIG, BrokerMode.ZOOKEEPER, born, seen)
    assert made == {
        **zookeeper_file(1),
        "inter.broker.protocol.version": "3.8-IV0",
        "authorizer.class.name": ACL_AUTHORIZER,
        "super.users": "User:admin",
        "their.own": "1",
    }


def test_protocols_that_kafka_takes_by_default_are_named_before_one_is_added() -> None:
    file = {key: value for key, value in _FILE.items() if key != "listener.security.protocol.map"}
    made = _in(BrokerMode.MIGRATION, file)
    assert made["listener.security.protocol.map"] == (
        "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
        ",CONTROLLER:PLAINTEXT"
    )
    assert _in(BrokerMode.ZOOKEEPER, made) == file


def test_what_cannot_be_placed_is_refused() -> None:
    for change, mode, code in (
        ({"broker.id": "-1"}, BrokerMode.MIGRATION, FindingCode.BROKER_ID_UNSET),
        (
            {"listeners": "CONTROLLER://:9093"},
            BrokerMode.MIGRATION,
            FindingCode.LISTENER_TAKEN,
        ),
        ({"authorizer.class.name": "a.B"}, BrokerMode.KRAFT, FindingCode.AUTHORIZER_UNKNOWN),
    ):
        made = broker_properties(_CONFIG, mode, _FILE | change, _SEEN)
        assert isinstance(made, Refused)
        assert [each.code for each in made.reasons] == [code]
    known = kraft_config(controllers=1, properties={"authorizer.class.name": "a.B"})
    file = _FILE | {"authorizer.class.name": "a.B"}
    made = broker_properties(known, BrokerMode.KRAFT, file, _SEEN)
    assert not isinstance(made, Refused)
    assert made["authorizer.class.name"] == "a.B"


def test_a_controller_knows_what_brokers_decided_by() -> None:
    file = _FILE | {"num.partitions": "7", "zookeeper.connect": "z:1/k"}
    seen = with_broker(_SEEN, 0, properties=file)
    made = controller_properties(_CONFIG, NodeId(3001), seen, flag=True)
    assert made == {
        "process.roles": "controller",
        "node.id": "3001",
        "controller.quorum.voters": _VOTERS,
        "controller.listener.names": "CONTROLLER",
        "listeners": "CONTROLLER://127.0.0.1:16301",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": "/data/c1",
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:admin",
        "num.partitions": "7",
        "zookeeper.connect": "z:1/k",
        "zookeeper.set.acl": "true",
        FLAG: "true",
    }
    final = controller_properties(_CONFIG, NodeId(3001), seen, flag=False)
    assert not isinstance(final, Refused)
    assert made.keys() - final.keys() == {
        FLAG,
        "zookeeper.connect",
        "zookeeper.set.acl",
        "inter.broker.listener.name",
    }


def test_a_controller_says_the_same_whatever_mode_brokers_are_in() -> None:
    """Restarting one in the middle of a migration must change nothing but the flag."""
    kraft = replace(_SEEN.brokers[NodeId(0)], properties=_in(BrokerMode.KRAFT))
    plain = with_broker(_SEEN, 0, properties=_FILE)
    moved = replace(plain, brokers={**plain.brokers, kraft.id: kraft})
    for flag in (True, False):
        before = controller_properties(_CONFIG, NodeId(3000), plain, flag=flag)
        assert controller_properties(_CONFIG, NodeId(3000), moved, flag=flag) == before


def test_controllers_are_formatted_with_the_version_of_the_brokers() -> None:
    at = _CONFIG.controllers.nodes[0]
    assert "--release-version" not in format_command(_CONFIG, at, "cluster", _SEEN)
    older = with_broker(_SEEN, 0, properties={**_FILE, IBP: "3.8-IV0"})
    command = format_command(_CONFIG, at, "cluster", older)
    assert command[-2:] == ("--release-version", "3.8-IV0")


def test_the_file_wins_for_controllers_but_not_over_the_migration() -> None:
    config = kraft_config(properties={"super.users": "User:me", "heap": "1"})
    made = controller_properties(config, NodeId(3000), _SEEN, flag=True)
    assert not isinstance(made, Refused)
    assert (made["super.users"], made["heap"]) == ("User:me", "1")
    taken = kraft_config(properties={FLAG: "false"})
    refused = controller_properties(taken, NodeId(3000), _SEEN, flag=True)
    assert isinstance(refused, Refused)
    assert FLAG in str(refused.reasons[0])


def test_a_controller_logs_in_to_secured_brokers_as_they_do_among_themselves() -> None:
    file = _FILE | {
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL",
        "ssl.keystore.location": "/k",
        "listener.name.plaintext.ssl.truststore.location": "/t",
        "listener.name.client.ssl.truststore.location": "/no",
    }
    made = controller_properties(
        _CONFIG, NodeId(3000), with_broker(_SEEN, 0, properties=file), flag=True
    )
    assert not isinstance(made, Refused)
    assert made["ssl.keystore.location"] == "/k"
    assert made["listener.name.plaintext.ssl.truststore.location"] == "/t"
    assert "listener.name.client.ssl.truststore.location" not in made


def test_a_controller_finds_values_that_brokers_keep_elsewhere() -> None:
    """`${file:...}` is read through config providers (KIP-421), else it is taken as it stands."""
    providers = {"config.providers": "file", "config.providers.file.class": "a.FileConfigProvider"}
    key = {"delegation.token.secret.key": "${file:/etc/kafka/secrets:token}"}
    seen = with_broker(_SEEN, 0, properties={**zookeeper_file(0), **providers, **key})
    for flag in True, False:
        made = controller_properties(_CONFIG, NodeId(3000), seen, flag=flag)
        assert not isinstance(made, Refused)
        assert made.items() >= (providers | key).items()


def test_a_difference_shows_no_secret() -> None:
    before = {"a": "1", "ssl.keystore.password": "hidden1", "b": "2"}
    after = {"a": "1", KEPT + "zookeeper.ssl.key.password": "hidden2", "c": "3"}
    shown = [line for each in shown_changes(before, after) for line in each.lines()]
    assert shown == [
        "-b=2",
        "+c=3",
        "-ssl.keystore.password=***",
        f"+{KEPT}zookeeper.ssl.key.password=***",
    ]
    assert changes(before, after)["b"] is None


def test_versions_of_the_protocol_have_levels() -> None:
    named = {"3.9": 21, "3.9-IV0": 21, "3.9.2": 21, "3.8": 20, "3.7": 19, "3.7-IV2": 17, "3.6": 14}
    assert {text: level_of(text) for text in named} == named
    assert [level_of(text) for text in ("3.3", "3.9-IV9", "3.9-IVx", "", "4.0")] == [None] * 5
    assert [version_of(level) for level in (21, 17, 9)] == ["3.9-IV0", "3.7-IV2", "3.5-IV0"]
    assert version_of(3) is None


def test_controllers_reach_an_encrypted_zookeeper_as_brokers_do_and_none_when_it_is_over() -> None:
    config = kraft_config(brokers=1)
    keys = {
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.truststore.location": "/etc/trust.p12",
        "zookeeper.ssl.truststore.password": "x",
        "zookeeper.set.acl": "true",
    }
    start = start_of(config)
    secured = {**start.brokers[NodeId(0)].properties, **keys}
    seen = with_broker(start, 0, properties=secured)
    made = controller_properties(config, NodeId(3000), seen, flag=True)
    assert not isinstance(made, Refused)
    assert keys.items() <= made.items()
    final = controller_properties(config, NodeId(3000), seen, flag=False)
    assert not isinstance(final, Refused)
    assert not [key for key in final if key.startswith("zookeeper.")]
    kraft = broker_properties(config, BrokerMode.KRAFT, secured, seen)
    assert not isinstance(kraft, Refused)
    assert not keys.keys() & kraft.keys()
    assert broker_properties(config, BrokerMode.ZOOKEEPER, kraft, seen) == secured


@pytest.mark.parametrize(
    "key", ["process.roles", "node.id", "log.dirs", "log.dir", FLAG, "zookeeper.connect"]
)
def test_a_file_cannot_take_from_controllers_what_makes_them_controllers(key: str) -> None:
    """Among these is the flag: a controller without it would finalize once it is elected."""
    config = kraft_config(properties={key: "false"})
    made = controller_properties(config, NodeId(3000), start_of(config), flag=True)
    assert isinstance(made, Refused)
    [found] = made.reasons
    assert found.code is FindingCode.CONTROLLER_KEYS_TAKEN
    decision = next_step(config, start_of(config), Goal.DUAL_WRITE)
    assert isinstance(decision, Refused)
    assert found in decision.reasons
