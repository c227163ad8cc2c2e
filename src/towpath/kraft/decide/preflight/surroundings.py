"""Checks of networks, names and other programs that a migration depends on. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from towpath.kraft.config import KubernetesDriver
from towpath.kraft.decide.moves import Facts
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.surroundings import ClientsSeen, Reach, Surroundings
from towpath.kraft.files.configs import ACL_AUTHORIZER, AUTHORIZER
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding
from towpath.kraft.look.hosts import addresses_from, brokers_at


def surroundings(facts: Facts, around: Surroundings) -> Iterator[Finding]:
    """Yield findings about networks, names and programs around a cluster."""
    yield from _ways(facts, around)
    yield from _names(around)
    yield from users(facts, around)
    if around.keepers:
        kept = [f"{node} ({told})" for node, told in sorted(around.keepers.items())]
        yield Finding.of(FindingCode.FIELDS_KEPT, kept=kept)


def users(facts: Facts, around: Surroundings) -> Iterator[Finding]:
    """Yield findings about other users of ZooKeeper."""
    if around.clients is not None:
        yield from _clients(facts, around, around.clients)
    if around.neighbours:
        yield Finding.of(FindingCode.ZOOKEEPER_SHARED, paths=around.neighbours)


def _ways(facts: Facts, around: Surroundings) -> Iterator[Finding]:
    wanted = addresses_from(facts.config, facts.seen)
    expected = _expected(facts)
    bad = [
        f"node {node} to {address} ({found})"
        for node, told in sorted(around.hosts.items())
        for address in wanted.get(node, ())
        if (found := told.reach.get(address)) is not None
        and found not in expected.get(address, _OPEN)
    ]
    if bad:
        yield Finding.of(FindingCode.UNREACHED, ways=bad)
    yield from _taken(facts, around)
    unknown = sorted(wanted.keys() - {node for node, each in around.hosts.items() if each.reach})
    if unknown:
        yield Finding.of(FindingCode.REACH_UNKNOWN, nodes=unknown)


def _taken(facts: Facts, around: Surroundings) -> Iterator[Finding]:
    """Yield the finding about addresses of controllers at which something else listens already.

    In Kubernetes a proxy beside each pod may open any connection, so an open one tells nothing.
    """
    if isinstance(facts.config.driver, KubernetesDriver):
        return
    idle = {each.id for each in facts.controllers if not (each.running or each.elsewhere)}
    is_open = {
        at for told in around.hosts.values() for at, it in told.reach.items() if it is Reach.OPEN
    }
    taken = [
        f"{each.address} of controller {each.id}"
        for each in facts.config.controllers.nodes
        if NodeId(each.id) in idle and each.address in is_open
    ]
    if taken:
        yield Finding.of(FindingCode.ADDRESS_TAKEN, addresses=taken)


_OPEN = frozenset({Reach.OPEN})


def _expected(facts: Facts) -> Mapping[str, frozenset[Reach]]:
    """Return what may come of a connection to a node that does not run, by its address."""
    at = {NodeId(each.id): each.address for each in facts.config.controllers.nodes}
    at |= {node: told for node, told in brokers_at(facts.config, facts.seen).items() if told}
    # The names of pods are known once they are there.
    in_pods = isinstance(facts.config.driver, KubernetesDriver)
    fine = _OPEN | {Reach.CLOSED} | ({Reach.UNRESOLVED, Reach.SILENT} if in_pods else set())
    nodes = (*facts.brokers, *facts.controllers)
    return {at[each.id]: fine for each in nodes if each.id in at and not each.running}


def _names(around: Surroundings) -> Iterator[Finding]:
    found: dict[str, dict[tuple[str, ...], list[NodeId]]] = {}
    for node, told in sorted(around.hosts.items()):
        for name, numbers in told.names.items():
            found.setdefault(name, {}).setdefault(numbers, []).append(node)
    differ = [
        f"{name} is "
        + ", ".join(
            f"{' and '.join(numbers)} on node {' and '.join(map(str, nodes))}"
            for numbers, nodes in sorted(some.items())
        )
        for name, some in sorted(found.items())
        if len(some) > 1
    ]
    if differ:
        yield Finding.of(FindingCode.NAMES_DIFFER, names=differ)


def _clients(facts: Facts, around: Surroundings, seen: ClientsSeen) -> Iterator[Finding]:
    if seen.untold:
        yield Finding.of(FindingCode.CLIENTS_UNKNOWN, servers=seen.untold)
    others = Counter(seen.others) - _other_sessions(facts, around, seen)
    if others:
        hosts = [f"{host} ({number})" for host, number in sorted(others.items())]
        yield Finding.of(FindingCode.FOREIGN_CLIENTS, hosts=hosts)


def _other_sessions(facts: Facts, around: Surroundings, seen: ClientsSeen) -> Counter[str]:
    """Return the sessions of nodes besides those that brokers are registered with, by address.

    Kafka's authorizer of ZooKeeper has one of its own in each broker, and a controller has one.
    """
    read = [each.properties for each in facts.brokers if each.properties]
    # A broker whose file was not read may have that authorizer.
    with_acls = len(read) < len(facts.config.brokers) or any(
        each.get(AUTHORIZER) == ACL_AUTHORIZER for each in read
    )
    found = Counter(seen.known if with_acls else {})
    for node, numbers in around.addresses.items():
        there = facts.seen.controllers.get(node)
        host = next((each for each in numbers if each in seen.others), None)
        if (there is None or there.running) and host is not None:
            found[host] += 1
    return found
