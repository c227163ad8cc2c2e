"""Logins at the controllers' listener that cannot succeed are told before anything is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.support.kraft.worlds import broker_properties, kraft_config, start_of, with_broker
from towpath.kraft.config import KraftConfig
from towpath.kraft.decide.moves import Facts
from towpath.kraft.decide.preflight.logins import logins
from towpath.kraft.facts.seen import Observation
from towpath.kraft.findings.codes import FindingCode

_MECHANISM = "sasl.mechanism.controller.protocol"
_KEYS = {"ssl.keystore.location": "/etc/keys/own.pem"}
_MAP = "listener.security.protocol.map"


def sasl(mechanism: str = "PLAIN") -> dict[str, str]:
    return {"mechanism": mechanism, "username": "admin", "password": "env:PATH"}


def mapped(protocol: str, **others: str) -> dict[str, str]:
    return {_MAP: f"CONTROLLER:{protocol}", **others}


def with_all(config: KraftConfig, more: Mapping[str, str]) -> Observation:
    seen = start_of(config)
    for each in config.brokers:
        seen = with_broker(seen, each.id, properties={**broker_properties(each.id), **more})
    return seen


def told(config: KraftConfig, more: Mapping[str, str]) -> dict[FindingCode, str]:
    facts = Facts.of(config, with_all(config, more))
    return {each.code: each.what for each in logins(facts)}


def test_nobody_logs_in_where_nobody_is_asked() -> None:
    assert told(kraft_config(), {}) == {}


@pytest.mark.parametrize(
    ("config", "more"),
    [
        (kraft_config(sasl=sasl("SCRAM-SHA-256")), {}),
        (kraft_config(properties=mapped("SASL_SSL")), {_MECHANISM: "SCRAM-SHA-512"}),
    ],
)
def test_scram_is_refused_at_controllers(config: KraftConfig, more: dict[str, str]) -> None:
    assert set(told(config, more)) == {FindingCode.CONTROLLERS_SCRAM}


def test_scram_among_brokers_is_fine() -> None:
    more = {"sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256", _MECHANISM: "PLAIN"}
    config = kraft_config(sasl=sasl(), properties={_MECHANISM: "PLAIN"})
    assert told(config, more) == {}


def test_a_mechanism_that_files_do_not_name_is_told() -> None:
    config = kraft_config(1, 1, sasl=sasl())
    said = told(config, {})[FindingCode.CONTROLLERS_LOGIN]
    assert said == (
        "the controllers' listener is SASL_PLAINTEXT, and files lack what nodes need there:"
        f" {_MECHANISM} of broker 0, {_MECHANISM} of controller 3000"
    )
    assert told(kraft_config(1, 1, sasl=sasl(), properties={_MECHANISM: "PLAIN"}), {}).keys() == {
        FindingCode.CONTROLLERS_LOGIN
    }


def test_controllers_need_certificates_and_brokers_where_they_are_asked() -> None:
    server = mapped("SSL", **_KEYS)
    assert told(kraft_config(1, 1, properties=server), {}) == {}
    without = told(kraft_config(1, 1, properties=mapped("SSL")), {})
    assert without[FindingCode.CONTROLLERS_LOGIN].endswith(
        ": ssl.keystore.location of controller 3000"
    )
    asked = {"listener.name.controller.ssl.client.auth": "required"}
    config = kraft_config(1, 1, properties=server | asked)
    assert told(config, asked)[FindingCode.CONTROLLERS_LOGIN].endswith(" of broker 0")
    assert told(config, asked | _KEYS) == {}


def test_what_brokers_have_for_ssl_among_themselves_serves_controllers_too() -> None:
    config = kraft_config(1, 1, properties=mapped("SSL"))
    seen = with_all(config, {**_KEYS, _MAP: "PLAINTEXT:SSL"})
    assert list(logins(Facts.of(config, replace(seen)))) == []
