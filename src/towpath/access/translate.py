"""The translation of the source's ACLs into the target's. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.errors import ConfigError
from towpath.model.nouns import TopicName
from towpath.settings import AclMode, TopicsConfig

_NEVER_SAFE = frozenset(
    {
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
        Operation.CLUSTER_ACTION,
        Operation.CREATE_TOKENS,
        Operation.TWO_PHASE_COMMIT,
    }
)
"""Operations on mirror topics that only the link may do before the cutover."""

_READING = {
    Resource.TOPIC: Operation.READ,
    Resource.GROUP: Operation.READ,
    Resource.USER: Operation.DESCRIBE_TOKENS,
}
"""The operation that replaces ALL in ALLOW before the cutover; Describe for other resources."""


@dataclass(slots=True)
class Translated:
    """The ACLs that the target should have, and those that are left out.

    Attributes:
        wanted: The ACLs for the target, each with the source ACL that asks for it.
        spared: ACLs that may stay on the target: of topics that the file asks for and that are not
            mirrored now.
        withheld: Source ACLs that `safe` leaves out.
        narrowed: Source ACLs that `safe` reduces to reading.
        guards: ACLs for the target about topics that are not mirrored: they deny what a wider ACL
            would allow there.
        unnamed: Source ACLs that cannot be expressed with the target's topic names.
        too_new: Source ACLs that the target's brokers do not know.
        elsewhere: The number of source ACLs about topics that are not mirrored.
    """

    wanted: dict[Acl, Acl] = field(default_factory=dict)
    spared: set[Acl] = field(default_factory=set)
    withheld: list[Acl] = field(default_factory=list)
    narrowed: list[Acl] = field(default_factory=list)
    guards: list[Acl] = field(default_factory=list)
    unnamed: list[Acl] = field(default_factory=list)
    too_new: list[Acl] = field(default_factory=list)
    elsewhere: int = 0


def translate(
    acls: Iterable[Acl],
    mode: AclMode,
    topics: TopicsConfig,
    names: Mapping[TopicName, TopicName],
    unknown: Collection[Resource | Operation] = (),
) -> Translated:
    """Return the ACLs that the target should have.

    Args:
        acls: All ACLs of the source.
        mode: The mode in the file.
        topics: The naming rules of topics.
        names: The mirrored topics, with their names on the target.
        unknown: Resource types and operations that the target's brokers do not know.
    """
    found = Translated()
    mirrored = sorted(names)
    aside: list[Acl] = []
    for acl in sorted(acls) if mode is not AclMode.OFF else ():
        if _concerns(acl, mirrored):
            kept = _kept(acl, mode)
            _take(acl, kept, kept and _renamed(kept, topics, names), unknown, found)
        else:
            aside.append(acl)
    reach = _Reach(found.wanted.values())
    for acl in aside:
        if reach.needs(acl):
            _guard(acl, _like_all(acl, topics), unknown, found)
        else:
            found.elsewhere += 1
            _spare(_kept(acl, mode), topics, found)
    return found


class _Reach:
    """The topics, mirrored or not, that wanted ALLOW ACLs on prefixes or on all topics reach."""

    def __init__(self, wanted: Iterable[Acl]) -> None:
        wide = [
            acl
            for acl in wanted
            if (acl.resource, acl.permission) == (Resource.TOPIC, Permission.ALLOW)
            and (acl.about_all or acl.pattern is Pattern.PREFIXED)
        ]
        self._all = any(acl.about_all for acl in wide)
        self._prefixes = tuple({acl.name for acl in wide})

    def needs(self, acl: Acl) -> bool:
        """Return whether an ACL for unmirrored topics denies what would be allowed without it."""
        # A shorter prefix than theirs also matches a mirrored topic, so it is wanted anyway.
        reached = self._all or acl.name.startswith(self._prefixes)
        return reached and acl.permission is Permission.DENY


def _take(
    acl: Acl,
    kept: Acl | None,
    renamed: Acl | None,
    unknown: Collection[Resource | Operation],
    found: Translated,
) -> None:
    """File a source ACL under the outcome of its translation; the mode leaves `kept` of it."""
    if kept is None:
        found.withheld.append(acl)
    elif kept.resource in unknown or kept.operation in unknown:
        found.too_new.append(acl)
    elif renamed is None:
        found.unnamed.append(acl)
    else:
        found.narrowed += [acl] if kept.operation is not acl.operation else []
        found.wanted.setdefault(renamed, acl)


def _guard(
    acl: Acl,
    renamed: Acl | None,
    unknown: Collection[Resource | Operation],
    found: Translated,
) -> None:
    _take(acl, acl, renamed, unknown, found)
    if renamed is not None and renamed in found.wanted:
        found.guards.append(renamed)


def _kept(acl: Acl, mode: AclMode) -> Acl | None:
    return acl if mode is AclMode.FULL else _safe(acl)


def _safe(acl: Acl) -> Acl | None:
    """Return what `safe` leaves of an ACL before the cutover; DENY stays as it is."""
    if acl.permission is Permission.DENY:
        return acl
    if acl.operation is Operation.ALL:
        return replace(acl, operation=_READING.get(acl.resource, Operation.DESCRIBE))
    return None if acl.operation in _NEVER_SAFE else acl


def _concerns(acl: Acl, mirrored: list[TopicName]) -> bool:
    """Whether an ACL is about something mirrored; resources other than topics always count."""
    if acl.resource is not Resource.TOPIC or acl.about_all:
        return True
    # In sorted order, names with a prefix come directly after the prefix.
    place = bisect_left(mirrored, acl.name)
    next_one = mirrored[place] if place < len(mirrored) else ""
    if acl.pattern is Pattern.PREFIXED:
        return next_one.startswith(acl.name)
    return next_one == acl.name


def _spare(kept: Acl | None, topics: TopicsConfig, found: Translated) -> None:
    """Spare an ACL that would be wanted again as soon as its topic is seen again."""
    if kept is None:
        return
    # A DENY may guard against a wider ALLOW, and stays with it.
    wide = kept.pattern is Pattern.PREFIXED or kept.permission is Permission.DENY
    renamed = _like_all(kept, topics) if wide else None
    renamed = renamed or _renamed(kept, topics, _asked_for(kept.name, topics))
    if renamed is not None:
        found.spared.add(renamed)


def _asked_for(name: str, topics: TopicsConfig) -> dict[TopicName, TopicName]:
    if not topics.matches(name):
        return {}
    try:
        return {TopicName(name): topics.target_name(name)}
    except ConfigError:
        return {}


def _renamed(acl: Acl, topics: TopicsConfig, names: Mapping[TopicName, TopicName]) -> Acl | None:
    """Return the ACL with its name on the target, if it has one."""
    if acl.resource is not Resource.TOPIC:
        return acl
    if acl.about_all:
        return _about_all_copies(acl, topics)
    if acl.pattern is Pattern.PREFIXED:
        return _like_all(acl, topics)
    name = names.get(TopicName(acl.name))
    return replace(acl, name=name) if name else None


def _like_all(acl: Acl, topics: TopicsConfig) -> Acl | None:
    """Return an ACL with its name as a mirror topic's, if renaming changes all prefixes alike."""
    name = topics.target_prefix(acl.name)
    return replace(acl, name=name) if name else None


def _about_all_copies(acl: Acl, topics: TopicsConfig) -> Acl | None:
    """Return an ACL about all topics; under a renaming prefix, about all topics with it."""
    if topics.keeps_names:
        return acl
    prefix = topics.target_prefix("")
    return replace(acl, name=prefix, pattern=Pattern.PREFIXED) if prefix else None
