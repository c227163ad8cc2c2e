"""Checks of node properties: required keys, and keys that must agree. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towpath.kraft.decide.moves import Facts
from towpath.kraft.facts.digests import SECRET_CONFIGS
from towpath.kraft.facts.nodes import file_mode
from towpath.kraft.facts.nouns import PROBES, BrokerMode, NodeId
from towpath.kraft.facts.seen import NodeSeen
from towpath.kraft.files.configs import (
    AUTHORIZER,
    STANDARD_AUTHORIZER,
    VOTER_KEYS,
    Properties,
    broker_properties,
    controller_properties,
    controller_protocol,
    in_zookeeper,
    of_kraft,
)
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding, Refused

_SESSION, _USUAL_SESSION = "zookeeper.session.timeout.ms", 18_000
_SAME = (
    AUTHORIZER,
    "super.users",
    "delegation.token.secret.key",
    "password.encoder.secret",
    "alter.config.policy.class.name",
    "create.topic.policy.class.name",
    "zookeeper.connect",
)
"""Keys that all brokers must have alike, as controllers take one value for all."""
_POLICY = "alter.config.policy.class.name"
_POLICY_AS_BEFORE = "alter.config.policy.kraft.compatibility.enable"
_CREATION, _DELETION = "create.topic.policy.class.name", "delete.topic.enable"
_ANONYMOUS = "User:ANONYMOUS"
_TOKEN_KEYS = ("delegation.token.secret.key", "delegation.token.master.key")
_ENCODER = "password.encoder.secret"


def rendering(facts: Facts) -> Iterator[Finding]:
    """Yield problems that prevent writing a node's properties for a later mode."""
    found: dict[Finding, None] = {}
    for node in facts.brokers:
        for mode in (BrokerMode.MIGRATION, BrokerMode.KRAFT):
            made = broker_properties(facts.config, mode, node.properties, facts.seen)
            found |= dict.fromkeys(made.reasons if isinstance(made, Refused) else ())
    for each in facts.config.controllers.nodes:
        made = controller_properties(facts.config, NodeId(each.id), facts.seen, flag=True)
        found |= dict.fromkeys(made.reasons if isinstance(made, Refused) else ())
    yield from found


def identity(facts: Facts) -> Iterator[Finding]:
    """Yield findings about wrong broker ids, and about controller ids that collide with them."""
    other = [
        f"{each.id} ({told})"
        for each in facts.brokers
        if (told := in_zookeeper(facts.config, each.properties, facts.seen).get("broker.id"))
        and told != str(each.id)
    ]
    if other:
        yield Finding.of(FindingCode.BROKER_ID_DIFFERS, brokers=other)
    brokers = facts.seen.zookeeper.brokers if facts.seen.zookeeper else frozenset()
    taken = sorted(brokers & {NodeId(each.id) for each in facts.config.controllers.nodes})
    if taken:
        yield Finding.of(FindingCode.CONTROLLER_ID_TAKEN, ids=taken)


def folders(facts: Facts) -> Iterator[Finding]:
    """Yield a finding about folders that belong to other nodes."""
    taken = [
        f"{at.directory} of {each.role} {each.id} is node {at.node}'s"
        for each in (*facts.brokers, *facts.controllers)
        for at in each.meta
        if at.node != each.id
    ]
    if taken:
        yield Finding.of(FindingCode.FOLDER_TAKEN, folders=taken)


def check_shared_keys(facts: Facts) -> Iterator[Finding]:
    """Yield findings about keys that brokers must share, and about controllers' keys."""
    bases = [in_zookeeper(facts.config, each.properties, facts.seen) for each in facts.brokers]
    differ = [key for key in _SAME if len({base.get(key, "") for base in bases}) > 1]
    if differ:
        yield Finding.of(FindingCode.BROKERS_DIFFER, keys=differ)
    own = facts.config.controllers.properties
    first = bases[0] if bases else {}
    over = [key for key in _SAME if key in own and own[key] != _expected(key, first.get(key, ""))]
    if over:
        yield Finding.of(FindingCode.CONTROLLERS_DIFFER, keys=over)
    if _POLICY in first and _POLICY_AS_BEFORE not in first and _POLICY_AS_BEFORE not in own:
        yield Finding.of(FindingCode.POLICY_DIFFERENT, key=_POLICY_AS_BEFORE)
    known = {**first, **own}
    if known.get(AUTHORIZER) and controller_protocol(facts.config) == "PLAINTEXT":
        everyone = known.get("allow.everyone.if.no.acl.found", "").lower() == "true"
        if _ANONYMOUS not in known.get("super.users", "").split(";") and not everyone:
            yield Finding.of(FindingCode.BROKERS_ANONYMOUS)
    yield from _secrets(facts, known)


def _expected(key: str, broker: str) -> str:
    """Return what controllers should have where brokers have a value."""
    return STANDARD_AUTHORIZER if key == AUTHORIZER and broker.startswith("kafka.") else broker


def _secrets(facts: Facts, told: dict[str, str]) -> Iterator[Finding]:
    image = facts.seen.zookeeper.image if facts.seen.zookeeper else None
    if image is None:
        return
    if image.tokens and not any(told.get(key) for key in _TOKEN_KEYS):
        yield Finding.of(FindingCode.TOKEN_KEY_MISSING, count=len(image.tokens))
    encrypted = [
        key for values in image.configs.values() for key in values if key.endswith(SECRET_CONFIGS)
    ]
    if encrypted and not told.get(_ENCODER):
        yield Finding.of(FindingCode.ENCODER_SECRET_MISSING, keys=sorted(set(encrypted)))


def voters(facts: Facts) -> Iterator[Finding]:
    """Yield findings about the brokers' configuration of the controller quorum."""
    early, other = [], []
    for node in facts.brokers:
        mode = file_mode(node)
        if mode is BrokerMode.ZOOKEEPER:
            early += [f"{key} of broker {node.id}" for key in of_kraft(node.properties)]
        elif mode is not None:
            made = broker_properties(facts.config, mode, node.properties, facts.seen)
            if not isinstance(made, Refused) and any(
                made.get(key) != node.properties.get(key) for key in VOTER_KEYS
            ):
                other.append(node.id)
    if early:
        yield Finding.of(FindingCode.KRAFT_KEYS_EARLY, keys=early)
    if other:
        yield Finding.of(FindingCode.VOTERS_OF_BROKERS, brokers=other)


def of_brokers(facts: Facts) -> Mapping[str, Properties]:
    """Return the brokers' properties as in ZooKeeper mode, by display name."""
    return {
        f"broker {each.id}": in_zookeeper(facts.config, each.properties, facts.seen)
        for each in facts.brokers
    }


def probe(facts: Facts) -> Iterator[Finding]:
    """Yield findings about probe topics that cannot be created or deleted, or were left."""
    own = facts.config.controllers.properties
    told = {**of_brokers(facts), "the controllers": own}
    kept = [
        node for node, each in told.items() if each.get(_DELETION, "").strip().lower() == "false"
    ]
    if kept:
        yield Finding.of(FindingCode.PROBE_STAYS, nodes=kept)
    if any(each.get(_CREATION, "").strip() for each in told.values()):
        yield Finding.of(FindingCode.PROBE_POLICY, topic=f"{PROBES}*")
    image = facts.seen.zookeeper.image if facts.seen.zookeeper else None
    left = sorted(name for name in image.topics if name.startswith(PROBES)) if image else []
    if left:
        yield Finding.of(FindingCode.PROBES_LEFT, topics=left)


def sessions(facts: Facts) -> Iterator[Finding]:
    """Yield a finding about brokers that could not restart in time after a kill."""
    limit = float(facts.config.limits.start)
    long = [f"{each.id} ({ms / 1000:g} s)" for each in facts.brokers
            if (ms := _session_of(facts, each)) >= limit * 1000]  # fmt: skip
    if long:
        yield Finding.of(FindingCode.SESSIONS_LONG, brokers=long, limit=f"{limit:g}")


def _session_of(facts: Facts, node: NodeSeen) -> int:
    told = in_zookeeper(facts.config, node.properties, facts.seen).get(_SESSION, "").strip()
    return int(told) if told.isdecimal() else _USUAL_SESSION


def control_plane(facts: Facts) -> Iterator[Finding]:
    """Yield a finding about a control plane listener, which KRaft does not have."""
    key = "control.plane.listener.name"
    brokers = [each.id for each in facts.brokers if key in each.properties]
    if brokers:
        yield Finding.of(FindingCode.CONTROL_PLANE, brokers=brokers)
