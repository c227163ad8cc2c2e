"""ACLs, SCRAM credentials, quotas and delegation tokens, read from ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from towpath.kraft.facts.image import Scram, Token
from towpath.kraft.facts.seen import Oddity
from towpath.kraft.zookeeper import forms
from towpath.kraft.zookeeper.at_start import ends_at
from towpath.kraft.zookeeper.reading import ZnodeReading
from towpath.model.acl import Acl, Pattern
from towpath.model.quota import Entity, EntityKind
from towpath.model.scram import Credential, Mechanism

Users = dict[Credential, Scram]
Quotas = dict[tuple[Entity, ...], Mapping[str, float]]

_ROOTS = {
    EntityKind.USER: "/config/users",
    EntityKind.CLIENT_ID: "/config/clients",
    EntityKind.IP: "/config/ips",
}
_TOKENS = "/delegation_token/tokens"


def read_acls(reading: ZnodeReading) -> frozenset[Acl]:
    """Return all ACLs; literal patterns have a root znode of their own."""
    roots = {"/kafka-acl": Pattern.LITERAL}
    for name in reading.children("/kafka-acl-extended"):
        path = f"/kafka-acl-extended/{name}"
        if name == Pattern.PREFIXED:
            roots[path] = Pattern.PREFIXED
        else:
            reading.note(path, Oddity.UNKNOWN_FORM, "its name is not a type of patterns")
    found: set[Acl] = set()
    for root, pattern in roots.items():
        found.update(_acls(reading, root, pattern))
    return frozenset(found)


def _acls(reading: ZnodeReading, root: str, pattern: Pattern) -> Iterator[Acl]:
    kinds = reading.children(root)
    for kind in kinds:
        if kind not in forms.RESOURCES:
            reading.note(f"{root}/{kind}", Oddity.UNKNOWN_FORM, "its name is not a resource type")
    known = {f"{root}/{kind}": forms.RESOURCES[kind] for kind in kinds if kind in forms.RESOURCES}
    names = reading.all_children(known)
    paths = [(path, name, f"{path}/{name}") for path in names for name in names[path]]
    znodes = reading.znodes(whole for *_, whole in paths)
    for path, name, whole in paths:
        if whole in znodes:
            made: dict[str, frozenset[Acl]] = {}
            data = znodes[whole].data
            make = partial(forms.acls, data, known[path], name, pattern)
            reading.keep(made, whole, whole, make)
            yield from made.get(whole, ())


def read_entities(reading: ZnodeReading) -> tuple[Users, Quotas]:
    """Return SCRAM credentials and quotas; a user's znode has both."""
    users: Users = {}
    quotas: Quotas = {}
    for kind, root in _ROOTS.items():
        paths = _entities(reading, kind, root)
        _add(reading, paths, users if kind is EntityKind.USER else None, quotas)
        if kind is EntityKind.USER:
            _add(reading, _clients(reading, paths), None, quotas)
    return users, quotas


def _entities(reading: ZnodeReading, kind: EntityKind, root: str) -> dict[tuple[Entity, ...], str]:
    """Return the paths of a kind of entities; a name that encodes nothing is noted."""
    found: dict[str, Entity] = {}
    for name in reading.children(root):
        path = f"{root}/{name}"
        reading.keep(found, path, path, partial(forms.entity, kind, name))
        if (ends := ends_at(root, name, {})) is not None:
            reading.note(path, ends.oddity, ends.why)
    return {(entity,): path for path, entity in found.items()}


def _clients(
    reading: ZnodeReading, users: Mapping[tuple[Entity, ...], str]
) -> dict[tuple[Entity, ...], str]:
    """Return the paths of a user's client ids."""
    below = {f"{path}/clients": user for user, path in users.items()}
    found: dict[str, Entity] = {}
    owners: dict[str, tuple[Entity, ...]] = {}
    for root, names in reading.all_children(below).items():
        for name in names:
            path = f"{root}/{name}"
            owners[path] = below[root]
            reading.keep(found, path, path, partial(forms.entity, EntityKind.CLIENT_ID, name))
    return {(*owners[path], client): path for path, client in found.items()}


def _add(
    reading: ZnodeReading,
    paths: Mapping[tuple[Entity, ...], str],
    users: Users | None,
    quotas: Quotas,
) -> None:
    znodes = reading.znodes(paths.values())
    for entities, path in paths.items():
        if path not in znodes:
            continue
        data = znodes[path].data
        reading.keep(quotas, entities, path, partial(forms.quotas, data))
        if not quotas.get(entities, True):
            del quotas[entities]
        name = entities[-1].name
        if users is not None and name is not None:
            _add_credentials(reading, users, name, path, data)


def _add_credentials(
    reading: ZnodeReading, users: Users, name: str, path: str, data: bytes | None
) -> None:
    made: dict[str, Mapping[Mechanism, Scram]] = {}
    reading.keep(made, path, path, partial(forms.credentials, data))
    for mechanism, scram in made.get(path, {}).items():
        users[Credential(name, mechanism)] = scram


def read_tokens(reading: ZnodeReading) -> Mapping[str, Token]:
    """Return the delegation tokens by their id."""
    names = reading.children(_TOKENS)
    return reading.values({name: f"{_TOKENS}/{name}" for name in names}, forms.token)
