"""The names that groups with configs get on the target. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from towpath.model.errors import ConfigError
from towpath.settings import GroupsConfig
from towpath.settings.naming import collisions


def target_names(
    groups: Iterable[str], config: GroupsConfig
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the target name of each group, and the reasons for groups without one."""
    names: dict[str, str] = {}
    nameless: dict[str, str] = {}
    for group in groups:
        try:
            names[group] = config.target_name(group)
        except ConfigError as error:
            nameless[group] = str(error)
    for taken, owners in collisions(names.items()).items():
        for group in owners:
            others = ", ".join(each for each in owners if each != group)
            nameless[group] = f"would be named {taken} on the target, as {others} would"
            del names[group]
    return names, nameless
