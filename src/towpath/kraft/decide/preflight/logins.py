"""Checks of the login settings for the controllers' listener. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towpath.kraft.decide.moves import Facts
from towpath.kraft.decide.preflight.node_configs import of_brokers
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.files.configs import Properties, controller_properties, controller_protocol
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding, Refused

_MECHANISM = "sasl.mechanism.controller.protocol"
_DEFAULT = "GSSAPI"
_STORES = "ssl.keystore.location", "ssl.keystore.key"
_CLIENT_AUTH = "ssl.client.auth"


def logins(facts: Facts) -> Iterator[Finding]:
    """Yield findings about logins at the controllers' listener that cannot succeed."""
    protocol = controller_protocol(facts.config)
    brokers, controllers = of_brokers(facts), _of_controllers(facts)
    lacking: list[str] = []
    if protocol.startswith("SASL"):
        ours = facts.config.controllers.sasl
        wanted = _DEFAULT if ours is None else ours.mechanism
        files = {**brokers, **controllers}
        told = {f"{_MECHANISM} of {node}": each.get(_MECHANISM) for node, each in files.items()}
        scram = [key for key, value in told.items() if _is_scram(value)]
        scram += ["`controllers.sasl`"] if _is_scram(wanted) else []
        if scram:
            yield Finding.of(FindingCode.CONTROLLERS_SCRAM, where=scram)
            return
        lacking += [key for key, value in told.items() if value is None and wanted != _DEFAULT]
    if protocol.endswith("SSL"):
        asked = {node: each for node, each in brokers.items() if _is_asked(facts, each)}
        lacking += _without_keys(facts, {**asked, **controllers})
    if lacking:
        yield Finding.of(FindingCode.CONTROLLERS_LOGIN, protocol=protocol, keys=lacking)


def _is_scram(mechanism: str | None) -> bool:
    return mechanism is not None and mechanism.startswith("SCRAM")


def _is_asked(facts: Facts, properties: Properties) -> bool:
    """Whether a broker must have a certificate; controllers, which are servers, always must."""
    return _of_listener(facts, properties, _CLIENT_AUTH) == "required"


def _without_keys(facts: Facts, files: Mapping[str, Properties]) -> Iterator[str]:
    """Yield the keys of certificates that are missing."""
    for node, each in files.items():
        if not any(_of_listener(facts, each, key) for key in _STORES):
            yield f"{_STORES[0]} of {node}"


def _of_listener(facts: Facts, properties: Properties, key: str) -> str | None:
    prefix = f"listener.name.{facts.config.controllers.listener.lower()}."
    return properties.get(prefix + key, properties.get(key))


def _of_controllers(facts: Facts) -> Mapping[str, Properties]:
    made = {
        each.id: controller_properties(facts.config, NodeId(each.id), facts.seen, flag=True)
        for each in facts.config.controllers.nodes
    }
    return {
        f"controller {node}": each for node, each in made.items() if not isinstance(each, Refused)
    }
