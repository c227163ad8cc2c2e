"""Checks for nodes in a migration's file that share an id, address or path by mistake. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from towpath.settings.problems import first_word
from towpath.settings.shape import Place, Placed, path_text

_OF_HOST = ("properties", "data")
"""Keys that must differ on one host: a controller's properties are written as a whole, over those
of any other node."""
_KEYS = ("id", "address", *_OF_HOST)
_LISTS = (("brokers",), ("controllers", "nodes"))


def clashes(tree: Mapping[str, Any]) -> Iterator[Placed]:
    """Yield the keys of nodes whose value an earlier node of the file already has.

    Args:
        tree: The content of the file. Parts of a wrong form are passed over, so that clashes are
            told beside other problems.
    """
    known: dict[tuple[str, str, str], Place] = {}
    for place, node in _nodes(tree):
        for key in _KEYS:
            value = node.get(key)
            if not isinstance(value, str | int):
                continue
            text, host = str(value).rstrip("/"), _host(tree, node) if key in _OF_HOST else ""
            if host is None:
                continue
            own = (key, text, host)
            if own in known:
                also = f"{first_word(text)} is also the {key} of {path_text(known[own])}"
                yield Placed((*place, key), f"{also}; each node needs its own")
            known.setdefault(own, place)


def _nodes(tree: Mapping[str, Any]) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    for place in _LISTS:
        part: Any = tree
        for key in place:
            part = part.get(key) if isinstance(part, Mapping) else None
        for index, node in enumerate(part if isinstance(part, list | tuple) else ()):
            if isinstance(node, Mapping):
                yield (*place, index), node


def _host(tree: Mapping[str, Any], node: Mapping[str, Any]) -> str | None:
    """Return where a node's files lie: each pod has its own, as has each host that ssh reaches.

    None where that is not known.
    """
    driver = tree.get("driver")
    match driver.get("via") if isinstance(driver, Mapping) else None:
        case "local":
            return ""
        case "kubernetes":
            return str(node.get("id"))
        case _:
            host = node.get("host") or str(node.get("address")).rpartition(":")[0]
            return str(host) if host else None
