"""The commands of a migration's file, with a node's values filled in. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from towpath.kraft.model import NodeId, Role

RELEASE = "{release}"


def filled(
    command: Sequence[str], node: NodeId, role: Role, properties: str, **others: str
) -> tuple[str, ...]:
    """Return a command with `{id}`, `{role}`, `{properties}` and others replaced.

    Other braces stay as they are: JVM options may have some.
    """
    values = {"id": str(node), "role": str(role), "properties": properties, **others}
    return tuple(_filled(word, values) for word in command)


def _filled(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word
