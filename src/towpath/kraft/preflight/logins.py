"""What nodes need to log in to controllers, whose listener is theirs alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towpath.kraft.files.configs import controller_properties, controller_protocol, in_zookeeper
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding
from towpath.kraft.model import NodeId
from towpath.kraft.planning.moves import Facts, Refused

_MECHANISM = "sasl.mechanism.controller.protocol"
_DEFAULT = "GSSAPI"
_STORES = "ssl.keystore.location", "ssl.keystore.key"
_CLIENT_AUTH = "ssl.client.auth"


def logins(facts: Facts) -> Iterator[Finding]:
    """Yield findings about logins at the controllers' listener that cannot succeed."""
    protocol, files = controller_protocol(facts.config), _files(facts)
    ours = facts.config.controllers.sasl
    wanted = _DEFAULT if ours is None else ours.mechanism
    if protocol.startswith("SASL"):
        told = {f"{_MECHANISM} of {node}": each.get(_MECHANISM) for node, each in files.items()}
        scram = [key for key, value in told.items() if _is_scram(value)]
        scram += ["`controllers.sasl`"] if _is_scram(wanted) else []
        if scram:
            yield Finding.of(FindingCode.CONTROLLERS_SCRAM, where=scram)
            return
        lacking = [key for key, value in told.items() if value is None and wanted != _DEFAULT]
    else:
        lacking = []
    if protocol.endswith("SSL"):
        lacking += list(_without_keys(facts, files))
    if lacking:
        yield Finding.of(FindingCode.CONTROLLERS_LOGIN, protocol=protocol, keys=lacking)


def _is_scram(mechanism: str | None) -> bool:
    return mechanism is not None and mechanism.startswith("SCRAM")


def _without_keys(facts: Facts, files: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield the keys of certificates that are missing: of controllers, and of all where asked."""
    for node, each in files.items():
        asked = _of_listener(facts, each, _CLIENT_AUTH) == "required"
        is_server = node not in {f"broker {one.id}" for one in facts.brokers}
        needed = is_server or asked
        if needed and not any(_of_listener(facts, each, key) for key in _STORES):
            yield f"{_STORES[0]} of {node}"


def _of_listener(facts: Facts, properties: Mapping[str, str], key: str) -> str | None:
    prefix = f"listener.name.{facts.config.controllers.listener.lower()}."
    return properties.get(prefix + key, properties.get(key))


def _files(facts: Facts) -> Mapping[str, Mapping[str, str]]:
    found = {
        f"broker {each.id}": in_zookeeper(facts.config, each.properties, facts.seen)
        for each in facts.brokers
    }
    for one in facts.config.controllers.nodes:
        made = controller_properties(facts.config, NodeId(one.id), facts.seen, flag=True)
        if not isinstance(made, Refused):
            found[f"controller {one.id}"] = made
    return found
