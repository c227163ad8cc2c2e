"""Validation of a pair of a Redpanda Connect file, with all that can be known at once. Pure.

Pydantic compares the fields of a section only where each is right by itself, and looks at nothing
where a part is refused as a whole. So what is wrong is left out, or replaced where it is required,
and the rest is looked at again. What that look finds counts only if it does not depend on what was
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from towpath.mirror.connect.file import ConnectFile
from towpath.settings.document import Tree
from towpath.settings.problems import faults_of
from towpath.settings.shape import Place
from towpath.settings.spots import Fault

_LOOKS = 8
_STAND_INS: Mapping[str | int, Any] = {
    "seed_brokers": ["{side}:9092"],
    "topics": ["orders"],
    "consumer_group": "",
    "url": "http://{side}:8081",
    "mechanism": "none",
    "schema_registry": {"url": "http://{side}:8081"},
    "redpanda_migrator": {},
    "input": {"redpanda_migrator": {}},
    "output": {"redpanda_migrator": {}},
}
"""What stands for required fields that are missing or wrong; `{side}` is `input` or `output`."""
Faults = list[tuple[str, Fault]]


def validated(
    tree: dict[str, Tree], folder: Path
) -> tuple[ConnectFile | None, Faults, ConnectFile | None]:
    """Return the fields of a pair, or its faults and the fields that are right.

    Each fault has the type that pydantic gives it.

    Args:
        tree: The file with this pair alone.
        folder: The folder of the file.
    """
    file, found = _looked_at(tree, folder)
    left: Any = tree
    wrong, told, rest = found, [*found], file
    left_out: set[Place] = set()
    for _ in range(_LOOKS):
        if not wrong:
            break
        left = deepcopy(left)
        for place in sorted({fault.place for _, fault in wrong}, reverse=True):
            _leave_out(left, place, stand_in=place in left_out)
        left_out |= {fault.place for _, fault in wrong}
        rest, wrong = _looked_at(left, folder)
        told += [each for each in wrong if not _follows(each[1], left_out)]
    return file, told, rest


def _looked_at(tree: Mapping[str, Tree], folder: Path) -> tuple[ConnectFile | None, Faults]:
    try:
        return ConnectFile.model_validate(tree, context={"folder": folder}), []
    except ValidationError as error:
        return None, [*faults_of(error, ConnectFile)]


def _leave_out(tree: Any, place: Place, *, stand_in: bool) -> None:
    """Take a place out of a tree; of a list, what follows as well, so that nothing moves.

    Args:
        tree: The tree.
        place: The place.
        stand_in: Whether something must stand there, as it was left out in vain; where nothing
            can, the part around it is left out.
    """
    *above, last = place
    if stand_in and last not in _STAND_INS and len(above) > 1:
        _leave_out(tree, tuple(above), stand_in=False)
        return
    node = tree
    for key in above:
        node = _below(node, key)
    if isinstance(node, list) and isinstance(last, int):
        del node[last:]
    elif isinstance(node, dict):
        node.pop(last, None)
        if stand_in and last in _STAND_INS:
            node[last] = _filled(_STAND_INS[last], str(place[0]))


def _below(node: Any, key: str | int) -> Any:
    """Return what stands below a key, `None` for nothing."""
    if isinstance(node, dict):
        return node.get(key)
    inside = isinstance(node, list) and isinstance(key, int) and key < len(node)
    return node[key] if inside else None


def _filled(value: Any, side: str) -> Any:
    match value:
        case str():
            return value.format(side=side)
        case list():
            return [_filled(each, side) for each in value]
        case dict():
            return {key: _filled(each, side) for key, each in value.items()}
        case _:
            return value


def _follows(fault: Fault, left_out: Iterable[Place]) -> bool:
    """Whether something is wrong only because of what was left out."""
    places = (fault.place, *fault.about)
    return any(_touches(gap, place) for gap in left_out for place in places)


def _touches(gap: Place, place: Place) -> bool:
    """Whether a place has other content because of a gap: at it, above it, or in its list."""
    if place[: len(gap)] == gap:
        return True
    return gap[: len(place)] == place and isinstance(gap[len(place)], int)
