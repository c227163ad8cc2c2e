"""The properties of each node in each mode, as data. Pure.

What a mode changes or removes in a broker's file stays in it under `towpath.kept.`, which Kafka
ignores. So the way back gives exactly what was there, also when this machine has lost its journal.
Controllers' files are written as a whole. Keys that no mode is about pass through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from towpath.kraft.config.file import KraftConfig
from towpath.kraft.facts.nouns import BrokerMode, NodeId
from towpath.kraft.facts.seen import FLAG, Observation
from towpath.kraft.files.kafka_versions import version_of
from towpath.kraft.files.listeners import INTER_LISTENER, INTER_PROTOCOL, inter_listener
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding, Refused

Properties = Mapping[str, str]

KEPT = "towpath.kept."
"""Before a key that another mode needs; Kafka does not know such keys."""

IBP = "inter.broker.protocol.version"
ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

AUTHORIZER = "authorizer.class.name"
_MAP = "listener.security.protocol.map"
_VOTERS = "controller.quorum.voters"
_BOOTSTRAP = "controller.quorum.bootstrap.servers"
_LISTENERS = "controller.listener.names"
_CONNECT = "zookeeper.connect"
_DEFAULT_MAP = ",".join(
    f"{each}:{each}" for each in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
)

VOTER_KEYS = (_VOTERS, _BOOTSTRAP, _LISTENERS)
"""Keys by which a broker finds its controllers."""

_OF_KRAFT = frozenset({"process.roles", "node.id", _VOTERS, _BOOTSTRAP, _LISTENERS, FLAG})
"""Keys that a broker in ZooKeeper mode must not have."""
_NOT_IN_KRAFT = frozenset(
    {"broker.id", "broker.id.generation.enable", "reserved.broker.max.id", IBP, FLAG,
     "control.plane.listener.name"}
)  # fmt: skip
"""Keys that a broker in KRaft mode must not have, besides `zookeeper.*`."""

_SHARED = (
    "super.users",
    "allow.everyone.if.no.acl.found",
    "principal.builder.class",
    "alter.config.policy.class.name",
    "alter.config.policy.kraft.compatibility.enable",
    "create.topic.policy.class.name",
    "delegation.token.secret.key",
    "delegation.token.master.key",
    "delegation.token.max.lifetime.ms",
    "delegation.token.expiry.time.ms",
    "delegation.token.expiry.check.interval.ms",
    "password.encoder.secret",
    "password.encoder.old.secret",
    "password.encoder.keyfactory.algorithm",
    "password.encoder.cipher.algorithm",
    "password.encoder.key.length",
    "password.encoder.iterations",
    "num.partitions",
    "default.replication.factor",
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "auto.leader.rebalance.enable",
    "leader.imbalance.check.interval.seconds",
    "leader.imbalance.per.broker.percentage",
    "delete.topic.enable",
    INTER_PROTOCOL,
    "sasl.mechanism.inter.broker.protocol",
)
"""Keys of brokers that controllers decide by, once they decide."""

_PROVIDERS = "config.providers"
"""Begins the keys by which values such as `${file:/path:key}` are found (KIP-421)."""

_OWN = frozenset({"process.roles", "node.id", "log.dirs", "log.dir", FLAG, _CONNECT})
"""Keys of controllers that the file of a migration must not replace."""


def _map(text: str) -> dict[str, str]:
    """Return the protocols of listeners, by name."""
    pairs = (each.partition(":") for each in text.split(",") if each.strip())
    return {name.strip(): protocol.strip() for name, _, protocol in pairs}


def _mapped(protocols: Mapping[str, str]) -> str:
    return ",".join(f"{name}:{protocol}" for name, protocol in protocols.items())


def broker_properties(
    config: KraftConfig, mode: BrokerMode, current: Properties, seen: Observation
) -> Properties | Refused:
    """Return the properties of a broker's file in a mode.

    Args:
        config: The file of the migration.
        mode: The mode.
        current: What the broker's file says now, in any mode.
        seen: The cluster; it tells what a file lacks that was never in ZooKeeper mode.
    """
    base = in_zookeeper(config, current, seen)
    refusals = tuple(_refusals(config, mode, base))
    if refusals:
        return Refused(refusals)
    if mode is BrokerMode.ZOOKEEPER:
        return base
    made = {**base, **_quorum(config), _MAP: _with_controllers(config, base)}
    if mode is BrokerMode.MIGRATION:
        made[FLAG] = "true"
    else:
        made |= {"process.roles": "broker", "node.id": base["broker.id"]}
        if base.get(AUTHORIZER) == ACL_AUTHORIZER:
            made[AUTHORIZER] = STANDARD_AUTHORIZER
        made = {key: value for key, value in made.items() if not _leaves(key)}
    kept = {KEPT + key: value for key, value in base.items() if made.get(key) != value}
    return {**made, **kept}


def of_kraft(properties: Properties) -> tuple[str, ...]:
    """Return the keys in a file that only KRaft mode uses."""
    return tuple(sorted(_OF_KRAFT & properties.keys()))


def differs_between_modes(key: str) -> bool:
    """Return whether a broker's key has different values in different modes."""
    return _leaves(key) or key in _OF_KRAFT or key in {AUTHORIZER, _MAP}


def _leaves(key: str) -> bool:
    return key in _NOT_IN_KRAFT or key.startswith("zookeeper.")


def in_zookeeper(config: KraftConfig, current: Properties, seen: Observation) -> Properties:
    """Return the ZooKeeper-mode properties of a broker's file, written for any mode."""
    kept = {key.removeprefix(KEPT): value for key, value in current.items() if key.startswith(KEPT)}
    plain = {key: value for key, value in current.items() if not key.startswith(KEPT)}
    base = {key: value for key, value in {**plain, **kept}.items() if key not in _OF_KRAFT}
    if kept or not current.get("process.roles"):
        return _without_controllers(config, base, restored=_MAP in kept)
    return _without_controllers(config, {**base, **_guessed(config, plain, seen)}, restored=False)


def _guessed(config: KraftConfig, plain: Properties, seen: Observation) -> Properties:
    """Return what ZooKeeper mode needs of a file that was written for KRaft mode."""
    level = seen.log.features.get("metadata.version") if seen.log else None
    version = version_of(level) if level is not None else None
    guessed = {"broker.id": plain.get("node.id", ""), _CONNECT: config.zookeeper.connect}
    if version is not None:
        guessed[IBP] = version
    if plain.get(AUTHORIZER) == STANDARD_AUTHORIZER:
        guessed[AUTHORIZER] = ACL_AUTHORIZER
    return guessed


def _without_controllers(config: KraftConfig, base: Properties, *, restored: bool) -> Properties:
    """Return a file whose listeners are those that it had before controllers were added."""
    name = config.controllers.listener
    if restored or name not in _map(base.get(_MAP, "")):
        return base
    left = {each: at for each, at in _map(base[_MAP]).items() if each != name}
    others = {key: value for key, value in base.items() if key != _MAP}
    return others if _mapped(left) == _DEFAULT_MAP else {**base, _MAP: _mapped(left)}


def _with_controllers(config: KraftConfig, base: Properties) -> str:
    protocols = _map(base.get(_MAP, _DEFAULT_MAP))
    return _mapped({**protocols, config.controllers.listener: controller_protocol(config)})


def controller_protocol(config: KraftConfig) -> str:
    """Return the security protocol of the controllers' listener."""
    own = _map(config.controllers.properties.get(_MAP, "")).get(config.controllers.listener)
    if own is not None:
        return own
    sasl, tls = config.controllers.sasl is not None, config.controllers.tls is not None
    if sasl:
        return "SASL_SSL" if tls else "SASL_PLAINTEXT"
    return "SSL" if tls else "PLAINTEXT"


def _quorum(config: KraftConfig) -> dict[str, str]:
    names = {_LISTENERS: config.controllers.listener}
    bootstrap = config.controllers.properties.get(_BOOTSTRAP)
    if bootstrap is not None:
        return {_BOOTSTRAP: bootstrap, **names}
    voters = ",".join(f"{each.id}@{each.address}" for each in config.controllers.nodes)
    return {_VOTERS: voters, **names}


def _refusals(config: KraftConfig, mode: BrokerMode, base: Properties) -> Iterable[Finding]:
    """Yield what cannot be placed in a mode."""
    number = base.get("broker.id", "")
    if not number.isdecimal():
        yield Finding.of(FindingCode.BROKER_ID_UNSET, found=number or "nothing")
    if mode is BrokerMode.ZOOKEEPER:
        return
    name = config.controllers.listener
    if name in _listener_names(base):
        yield Finding.of(FindingCode.LISTENER_TAKEN, broker=number, listener=name)
    if mode is BrokerMode.KRAFT and not _may_authorize(config, base):
        yield Finding.of(FindingCode.AUTHORIZER_UNKNOWN, broker=number, found=base[AUTHORIZER])


def _listener_names(base: Properties) -> frozenset[str]:
    texts = base.get("listeners", "").split(",")
    return frozenset(each.partition("://")[0].strip() for each in texts)


def _may_authorize(config: KraftConfig, base: Properties) -> bool:
    """Whether the authorizer of a broker has an equal in KRaft mode.

    Another one does if the file gives it to the controllers, too.
    """
    known = {
        "",
        ACL_AUTHORIZER,
        STANDARD_AUTHORIZER,
        config.controllers.properties.get(AUTHORIZER),
    }
    return base.get(AUTHORIZER, "").strip() in known


def controller_properties(
    config: KraftConfig, node: NodeId, seen: Observation, *, flag: bool
) -> Properties | Refused:
    """Return the properties of a controller's file.

    Args:
        config: The file of the migration; its `controllers.properties` win over brokers' values.
        node: The controller.
        seen: The cluster, whose brokers tell what controllers need to know of them.
        flag: Whether it takes part in the migration; without, ZooKeeper is not named any more.
    """
    taken = sorted(_OWN & set(config.controllers.properties))
    if taken:
        return Refused.by(Finding.of(FindingCode.CONTROLLER_KEYS_TAKEN, keys=taken))
    brokers = [each.properties for _id, each in sorted(seen.brokers.items()) if each.properties]
    broker = in_zookeeper(config, brokers[0], seen) if brokers else {}
    at = next(each for each in config.controllers.nodes if NodeId(each.id) == node)
    made = {
        "process.roles": "controller",
        "node.id": str(node),
        **_quorum(config),
        "listeners": f"{config.controllers.listener}://{at.address}",
        _MAP: _with_controllers(config, broker),
        "log.dirs": at.data,
        **{key: broker[key] for key in _SHARED if key in broker},
        **{key: value for key, value in broker.items() if key.startswith(_PROVIDERS)},
    }
    if broker.get(AUTHORIZER) in {ACL_AUTHORIZER, STANDARD_AUTHORIZER}:
        made[AUTHORIZER] = STANDARD_AUTHORIZER
    made |= _towards_brokers(broker)
    if flag:
        made |= _migrating(config, broker)
    return {**made, **config.controllers.properties}


def _towards_brokers(broker: Properties) -> Properties:
    """Return how a controller logs in to brokers that read ZooKeeper, if they are secured."""
    listener = inter_listener(broker)
    protocol = _map(broker.get(_MAP, _DEFAULT_MAP)).get(listener, "PLAINTEXT")
    if protocol == "PLAINTEXT":
        return {}
    about = ("ssl.", "sasl.", f"listener.name.{listener.lower()}.")
    return {key: value for key, value in broker.items() if key.startswith(about)}


def _migrating(config: KraftConfig, broker: Properties) -> Properties:
    """Return what a controller has as long as it writes to ZooKeeper and asks its brokers."""
    zookeeper = {key: value for key, value in broker.items() if key.startswith("zookeeper.")}
    about = {_CONNECT: config.zookeeper.connect, **zookeeper, FLAG: "true"}
    return about if INTER_PROTOCOL in broker else {**about, INTER_LISTENER: inter_listener(broker)}
