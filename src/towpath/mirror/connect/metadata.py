"""Metadata that mappings set: later mappings and headers of the output may ask for it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from towpath.bloblang.nodes import Node, Statement, with_metadata

NONE_SET: Mapping[str, Node] = MappingProxyType({})


def metadata_of(statements: Iterable[Statement]) -> Iterator[tuple[str, Node]]:
    """Yield the metadata that a mapping sets, as it stands there."""
    for each in statements:
        kind, _, name = each.target.partition(" ")
        if kind == "meta":
            yield name, each.value


def set_by(statements: Iterable[Statement], known: Mapping[str, Node]) -> Mapping[str, Node]:
    """Return what is set behind a mapping; within one, all ask for what was there before.

    Args:
        statements: The mapping.
        known: What was set before it.
    """
    return {
        **known,
        **{name: with_metadata(value, known) for name, value in metadata_of(statements)},
    }
