"""The pairs of input and output in a file: one, or several below `broker`, which labels join. Pure.

Connect joins an input and an output of one label as well, but its linter refuses equal labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from towpath.settings.document import Tree
from towpath.settings.shape import Place, Placed

DEFAULT_LABEL = "default"
_BROKER = "broker"
_LISTS = {"input": "inputs", "output": "outputs"}
_NO_EFFECT = {"input": {"copies": 1}, "output": {"copies": 1}}
"""Fields of a broker with the value that changes nothing here; `pattern` is not needed at all."""


@dataclass(frozen=True, slots=True)
class Pair:
    """An input with its output, as a file of one pair.

    Attributes:
        label: The label of both.
        number: The number of pairs before it in the file.
        tree: The file with this pair alone.
        places: Where the input and the output of the pair stand in the file.
    """

    label: str
    number: int
    tree: dict[str, Tree]
    places: Mapping[str, Place] = field(default_factory=dict)

    def located(self, place: Place) -> Place:
        """Return a place of the tree as one of the file."""
        return (*self.places.get(str(place[0]), place[:1]), *place[1:]) if place else place


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of a file.

    Attributes:
        pairs: The pairs, in the order of their inputs.
        problems: Why some inputs or outputs are in no pair, by place in the file.
    """

    pairs: tuple[Pair, ...]
    problems: tuple[Placed, ...] = ()


def pairs_of(tree: dict[str, Tree]) -> Pairs:
    """Return the pairs of a file; one without `broker` is one pair, whatever its labels are."""
    if not any(_broker(tree, side) is not None for side in _LISTS):
        return Pairs((Pair(_label(tree.get("input")), 0, tree),))
    problems = [each for side in _LISTS for each in _misused(tree, side)]
    sides = {side: _by_label(tree, side, problems) for side in _LISTS}
    outputs = sides["output"]
    pairs: list[Pair] = []
    for label, (place, part) in sides["input"].items():
        if label not in outputs:
            problems.append(Placed(place, f"has the label {label}, which no output has"))
            continue
        there, output = outputs.pop(label)
        made = {**tree, "input": part, "output": output}
        pairs.append(Pair(label, len(pairs), made, {"input": place, "output": there}))
    for label, (place, _) in outputs.items():
        problems.append(Placed(place, f"has the label {label}, which no input has"))
    return Pairs(tuple(pairs), tuple(problems))


def _broker(tree: Mapping[str, Tree], side: str) -> Any:
    part = tree.get(side)
    return part.get(_BROKER) if isinstance(part, dict) else None


def _label(part: object) -> str:
    found = part.get("label") if isinstance(part, dict) else None
    return found if isinstance(found, str) and found else DEFAULT_LABEL


def _by_label(
    tree: Mapping[str, Tree], side: str, problems: list[Placed]
) -> dict[str, tuple[Place, Any]]:
    """Return the inputs or outputs by their labels, and collect those whose label is taken."""
    found: dict[str, tuple[Place, Any]] = {}
    for place, part in _parts(tree, side):
        label = _label(part)
        if label in found:
            text = (
                f"has the label {label}, as another {side} has; give each pair a label of its own"
            )
            problems.append(Placed(place, text))
        else:
            found[label] = place, part
    return found


def _parts(tree: Mapping[str, Tree], side: str) -> Iterator[tuple[Place, Any]]:
    broker = _broker(tree, side)
    parts = broker.get(_LISTS[side]) if isinstance(broker, dict) else None
    if broker is None:
        yield (side,), tree.get(side)
    elif isinstance(parts, list):
        for index, part in enumerate(parts):
            yield (side, _BROKER, _LISTS[side], index), part


def _misused(tree: Mapping[str, Tree], side: str) -> Iterator[Placed]:
    """Yield what a broker may not have here."""
    broker, part = _broker(tree, side), tree.get(side)
    if broker is None or not isinstance(part, dict):
        return
    known = {_LISTS[side], "pattern", *_NO_EFFECT[side]}
    if not isinstance(broker, dict) or not isinstance(broker.get(_LISTS[side]), list):
        yield Placed((side, _BROKER), f"needs a list `{_LISTS[side]}`")
        return
    for key in sorted(part.keys() - {_BROKER, "label"}):
        yield Placed(
            (side, key), f"is not taken beside `broker`; write it at each {side}, or as `pipeline`"
        )
    for key in sorted(broker.keys() - known):
        yield Placed((side, _BROKER, key), "is not known here: each pair is a link of its own")
    for key, value in _NO_EFFECT[side].items():
        if broker.get(key, value) != value:
            text = "would copy each record more than once; leave it out"
            yield Placed((side, _BROKER, key), text)
