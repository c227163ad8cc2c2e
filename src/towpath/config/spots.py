"""Where the keys and values of a YAML file stand, and the problems found there."""

from __future__ import annotations

from dataclasses import dataclass

from ruamel.yaml.nodes import Node

from towpath.config.shape import Place, path_text
from towpath.model.errors import ConfigProblem, Spot


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem at a place of the file; `on_key` tells that the key is wrong, not its value."""

    place: Place
    text: str
    on_key: bool = False


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
        """Keep where a key stands; the last one counts where a key stands twice."""
        self._keys[place] = self._start(node)

    def add_value(self, place: Place, node: Node) -> None:
        """Keep where a value begins; the value of an alias begins behind its anchor."""
        self._values[place] = self._start(node)

    def rename(self, place: Place, better: Place) -> None:
        """Let a key be found under another place as well."""
        self._keys.setdefault(better, self._keys[place])

    def at(self, line: int, column: int) -> Spot:
        """Return a spot of this file; both numbers count from 1."""
        return Spot(self._file, line, column)

    def problem(self, fault: Fault) -> ConfigProblem:
        """Return the problem with its path and its line and column."""
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
