"""The syntax tree of an expression or a mapping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

Constant = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression."""

    def parts(self) -> Iterator[Node]:
        """Yield the node and all nodes below it, in the order of the text."""
        yield self
        for node in self.children():
            yield from node.parts()

    def children(self) -> Iterator[Node]:
        """Yield the nodes right below it."""
        for each in fields(self):
            yield from _nodes(getattr(self, each.name))


def with_metadata(node: Node, known: Mapping[str, Node]) -> Node:
    """Return an expression with other expressions in place of some metadata."""
    if isinstance(node, MetadataOf):
        return known.get(node.name, node)
    return replace(node, **{e.name: _put(getattr(node, e.name), known) for e in fields(node)})


def _put(value: Any, known: Mapping[str, Node]) -> Any:
    if isinstance(value, tuple):
        return tuple(_put(each, known) for each in value)
    return with_metadata(value, known) if isinstance(value, Node) else value


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _nodes(each)


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A text, a number, true, false or null."""

    value: Constant


@dataclass(frozen=True, slots=True)
class Items(Node):
    """A list of expressions."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MetadataOf(Node):
    """The metadata of the message: one of it by name, or all with the name ""."""

    name: str


@dataclass(frozen=True, slots=True)
class This(Node):
    """The current value: the content of the message, or the value that `match` compares."""


@dataclass(frozen=True, slots=True)
class Field(Node):
    """A field of a value."""

    of: Node
    name: str


@dataclass(frozen=True, slots=True)
class Call(Node):
    """The call of a function."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Method(Node):
    """The call of a method on a value."""

    of: Node
    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not(Node):
    """The opposite of a condition."""

    of: Node


@dataclass(frozen=True, slots=True)
class BinaryOperation(Node):
    """An operator between two values."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Branch(Node):
    """A condition with its result."""

    condition: Node
    then: Node


@dataclass(frozen=True, slots=True)
class If(Node):
    """The branch of the first condition that is true, or else the last value."""

    branches: tuple[Branch, ...]
    otherwise: Node | None


@dataclass(frozen=True, slots=True)
class Match(Node):
    """The branch of the first case that a value fits; a literal fits what equals it."""

    of: Node | None
    cases: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """A statement of a mapping: `root = ...`, `meta name = ...`, `let name = ...`."""

    target: str
    value: Node
