"""The lines of keys and values in a YAML file, and the problems found there."""

from __future__ import annotations

from dataclasses import dataclass

from ruamel.yaml.nodes import Node

from towpath.model.errors import ConfigProblem, Spot
from towpath.settings.shape import Place, path_text


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem at a place in the file.

    Attributes:
        place: The place.
        text: What is wrong.
        on_key: Whether the key is wrong, not its value.
        about: Other places whose values it depends on.
    """

    place: Place
    text: str
    on_key: bool = False
    about: tuple[Place, ...] = ()


class Spots:
    """The lines and columns of one file.

    Args:
        file: Path of the file, as the user wrote it.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._keys: dict[Place, Spot] = {}
        self._values: dict[Place, Spot] = {}

    def add_key(self, place: Place, node: Node) -> None:
        """Store the position of a key; of a repeated key the last one counts."""
        self._keys[place] = self._start(node)

    def add_value(self, place: Place, node: Node) -> None:
        """Store the position of a value; an alias' value is at its anchor."""
        self._values[place] = self._start(node)

    def rename(self, place: Place, better: Place) -> None:
        """Make a key's position available under another place as well."""
        self._keys.setdefault(better, self._keys[place])

    def at(self, line: int, column: int) -> Spot:
        """Return a position in the file; both numbers count from 1."""
        return Spot(self._file, line, column)

    def problem(self, fault: Fault) -> ConfigProblem:
        """Return the problem with its path, line and column."""
        return ConfigProblem(path_text(fault.place), fault.text, self._of(fault))

    def _of(self, fault: Fault) -> Spot:
        """Return where a fault is; what is missing is told at the key it should stand below."""
        place, missing = fault.place, None
        if fault.on_key and place in self._keys:
            return self._keys[place]
        while place not in self._values:
            place, missing = place[:-1], place[-1]
        key = self._keys.get(place) if isinstance(missing, str) else None
        return key or self._values[place]

    def _start(self, node: Node) -> Spot:
        return self.at(node.start_mark.line + 1, node.start_mark.column + 1)
