"""Changes to the tree of a file before validation: `<<`, `--set` and `--chilled`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings.document import Tree, parse
from towpath.settings.shape import Place

_MERGE = "<<"
_PART = re.compile(r"[^.]+")


def set_values(tree: dict[str, Tree], wanted: Iterable[tuple[str, str]]) -> None:
    """Set the values of `--set` in the tree of a file.

    Args:
        tree: The tree, which is changed.
        wanted: Paths such as `input.redpanda_migrator.topics.0` (`-` is behind the last one), each
            with a value in YAML.

    Raises:
        ConfigError: A path leads through something that is no mapping or list.
    """
    for path, text in wanted:
        *way, last = _PART.findall(path) or [path]
        node: Any = tree
        for part in way:
            node = _below(node, part, path)
        if isinstance(node, list):
            _put(node, last, _value(text), path)
        elif isinstance(node, dict):
            node[last] = _value(text)
        else:
            raise _wrong(path)


def merge(tree: dict[str, Tree]) -> None:
    """Merge the mappings that `<<` names, as YAML 1.1 and Redpanda Connect do."""
    for key, value in tree.items():
        tree[key] = _merged(value)
    if _MERGE in tree:
        tree.update(_of_merge(tree.pop(_MERGE)) | tree)


def _merged(value: Tree) -> Tree:
    if isinstance(value, list):
        return [_merged(each) for each in value]
    if isinstance(value, dict):
        value = dict(value)  # an alias is the same mapping at each of its places
        merge(value)
    return value


def _of_merge(value: Tree) -> dict[str, Tree]:
    """Return what is merged; of several mappings the first one counts."""
    found: dict[str, Tree] = {}
    for each in value if isinstance(value, list) else [value]:
        found = (each | found) if isinstance(each, dict) else found | {_MERGE: each}
    return found


def leave_out(tree: dict[str, Tree], places: Iterable[Place]) -> None:
    """Remove unknown keys from the tree of a file."""
    for place in places:
        node: Any = tree
        for part in place[:-1]:
            node = node[part]
        node.pop(place[-1], None)


def _below(node: Any, part: str, path: str) -> Any:
    if isinstance(node, dict):
        return node.setdefault(part, {})
    if isinstance(node, list) and part.isdecimal() and int(part) < len(node):
        return node[int(part)]
    raise _wrong(path)


def _put(node: list[Any], part: str, value: Tree, path: str) -> None:
    if part == "-":
        node.append(value)
    elif part.isdecimal() and int(part) < len(node):
        node[int(part)] = value
    else:
        raise _wrong(path)


def _value(text: str) -> Tree:
    """Return a value as YAML reads it; what is no YAML is a text."""
    try:
        found = parse(f"value: {text}", "--set")
    except ConfigError:
        return text
    return found.tree.get("value", text) if not found.faults else text


def _wrong(path: str) -> ConfigError:
    why = f"{path}: leads through a value, or to a place that its list does not have"
    return ConfigError((ConfigProblem("--set", why),))
