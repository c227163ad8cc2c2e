"""The names of groups on the target, and why some groups can have none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from towpath.groups.decide import TranslatedGroup
from towpath.groups.observe_groups import SourceGroup
from towpath.ledger.entries import SeenPosition
from towpath.model.errors import ConfigError
from towpath.model.nouns import TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings.naming import collisions

Last = Callable[[str], Mapping[TopicPartition, SeenPosition]]
"""Returns what the ledger remembers of the positions of a group."""


def with_target_names(
    groups: Mapping[str, SourceGroup], target_name: Callable[[str], str], last: Last
) -> Iterator[TranslatedGroup]:
    """Yield groups with their target names; groups that would share a name get none.

    Args:
        groups: The groups by name.
        target_name: Returns the name of a group on the target, or raises `ConfigError`.
        last: Returns what is remembered of a group.
    """
    names, reasons = _names(groups, target_name)
    for name, group in groups.items():
        yield TranslatedGroup(
            group=group,
            mirror_group=names.get(name, ""),
            reason=reasons.get(name),
            last=last(name),
        )


def _names(
    groups: Iterable[str], target_name: Callable[[str], str]
) -> tuple[dict[str, str], dict[str, Reason]]:
    names: dict[str, str] = {}
    reasons: dict[str, Reason] = {}
    for name in groups:
        try:
            names[name] = target_name(name)
        except ConfigError as error:
            reasons[name] = error.reason
    for taken, owners in collisions(names.items()).items():
        for name in owners:
            other = next(each for each in owners if each != name)
            owner = f"group {other}, too"
            reasons[name] = Reason.of(ReasonCode.GROUP_NAME_TAKEN, name=taken, owner=owner)
    return names, reasons
