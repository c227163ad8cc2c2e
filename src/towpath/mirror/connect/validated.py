"""Validation of a pair of a Redpanda Connect file, with all that can be known at once. Pure.

Pydantic compares the fields of a section only where each is right by itself, and looks at nothing
where a part is refused as a whole. So what is wrong is left out, and the rest is looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from towpath.mirror.connect.file import ConnectFile
from towpath.settings.document import Tree
from towpath.settings.problems import faults_of
from towpath.settings.shape import Place
from towpath.settings.spots import Fault

_LOOKS = 4
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
    left, wrong, told, rest = tree, found, [*found], file
    for _ in range(_LOOKS):
        if not wrong:
            break
        left = _without(left, [fault.place for _, fault in wrong])
        rest, wrong = _looked_at(left, folder)
        places = [fault.place for _, fault in told]
        told += [each for each in wrong if not _follows(each[1].place, places)]
    return file, told, rest


def _looked_at(tree: dict[str, Tree], folder: Path) -> tuple[ConnectFile | None, Faults]:
    try:
        return ConnectFile.model_validate(tree, context={"folder": folder}), []
    except ValidationError as error:
        return None, [*faults_of(error, ConnectFile)]


def _without(tree: dict[str, Tree], places: Iterable[Place]) -> dict[str, Tree]:
    """Return a tree without some places; of a list, all of it is left out."""
    left = deepcopy(tree)
    for place in places:
        keys, node = [*_keys(place)], cast("Any", left)
        for key in keys[:-1]:
            node = node.get(key) if isinstance(node, dict) else None
        if keys and isinstance(node, dict):
            node.pop(keys[-1], None)
    return left


def _keys(place: Place) -> Iterator[str]:
    """Yield the keys of a place, up to the first list."""
    return (str(part) for part in takewhile(lambda part: isinstance(part, str), place))


def _follows(place: Place, told: Iterable[Place]) -> bool:
    """Whether a section was told wrong already, so that it may be wrong for what is left out."""
    section = place[:-1]
    return any(each[: len(section)] == section for each in told)
