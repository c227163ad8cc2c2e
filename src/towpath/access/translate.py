"""Which ACLs of the source the target should have, and under which names. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from towpath.config import AclMode, TopicsConfig
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.errors import ConfigError
from towpath.model.nouns import TopicName

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
"""What nobody but the link may do with mirror topics before the cutover."""

_READING = {
    Resource.TOPIC: Operation.READ,
    Resource.GROUP: Operation.READ,
    Resource.USER: Operation.DESCRIBE_TOKENS,
}
"""What is left of ALLOW ALL then; where there is nothing to read, Describe."""


@dataclass(slots=True)
class Translated:
    """What the target should have.

    Attributes:
        wanted: Each ACL of the target with the one of the source that asks for it.
        spared: Those that it may have: of topics that are asked for and not mirrored now.
        withheld: ACLs of the source that `safe` leaves out.
        narrowed: ACLs of the source of which `safe` leaves reading alone.
        guards: ACLs of the target about topics that are not mirrored: they deny there what an
            ACL that reaches further would allow.
        unnamed: ACLs of the source that have no name on the target.
        too_new: ACLs of the source that the target's brokers do not know.
        elsewhere: How many of the source are about topics that are not mirrored.
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
    """Return what the target should have of the source's ACLs.

    Args:
        acls: All of the source.
        mode: What the file allows.
        topics: How topics are named on the target.
        names: The topics that are mirrored, with their names on the target.
        unknown: What the target's brokers do not know.
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
    """Whose names fit what is allowed beyond single topics, mirrored or not."""

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
        """Whether an ACL of topics that are not mirrored denies what would be allowed."""
        # A prefix that is shorter than theirs fits what they are copied for, a mirrored topic.
        reached = self._all or acl.name.startswith(self._prefixes)
        return reached and acl.permission is Permission.DENY


def _take(
    acl: Acl,
    kept: Acl | None,
    renamed: Acl | None,
    unknown: Collection[Resource | Operation],
    found: Translated,
) -> None:
    """Decide what becomes of an ACL of the source, of which the mode leaves `kept`."""
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
    """Return what is harmless of an ACL before the cutover; what is denied stays denied."""
    if acl.permission is Permission.DENY:
        return acl
    if acl.operation is Operation.ALL:
        return replace(acl, operation=_READING.get(acl.resource, Operation.DESCRIBE))
    return None if acl.operation in _NEVER_SAFE else acl


def _concerns(acl: Acl, mirrored: list[TopicName]) -> bool:
    """Whether an ACL is about something that is mirrored; what is no topic always is."""
    if acl.resource is not Resource.TOPIC or acl.about_all:
        return True
    # In their order the names with a prefix follow it at once.
    place = bisect_left(mirrored, acl.name)
    next_one = mirrored[place] if place < len(mirrored) else ""
    if acl.pattern is Pattern.PREFIXED:
        return next_one.startswith(acl.name)
    return next_one == acl.name


def _spare(kept: Acl | None, topics: TopicsConfig, found: Translated) -> None:
    """Keep from removal what returns as soon as its topic is seen again."""
    if kept is None:
        return
    # What is denied may guard against what is allowed further on, and stays with it.
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
    """Return the ACL under its name on the target, if it has one."""
    if acl.resource is not Resource.TOPIC:
        return acl
    if acl.about_all:
        return _about_all_copies(acl, topics)
    if acl.pattern is Pattern.PREFIXED:
        return _like_all(acl, topics)
    name = names.get(TopicName(acl.name))
    return replace(acl, name=name) if name else None


def _like_all(acl: Acl, topics: TopicsConfig) -> Acl | None:
    """Return an ACL under the name that a mirror topic would have, where all names change alike."""
    name = topics.target_prefix(acl.name)
    return replace(acl, name=name) if name else None


def _about_all_copies(acl: Acl, topics: TopicsConfig) -> Acl | None:
    """Return an ACL about all topics: with other names, all that begin like mirror topics."""
    if topics.keeps_names:
        return acl
    prefix = topics.target_prefix("")
    return replace(acl, name=prefix, pattern=Pattern.PREFIXED) if prefix else None
