"""A YAML 1.2 text as plain values, with every problem of its syntax.

Values are built here from the parser's nodes, not by its constructor, for three reasons: equal
keys are all found at once, times stay texts, and no message ever quotes the file, where a password
may stand.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign

Tree = dict[str, "Tree"] | list["Tree"] | str | int | float | bool

_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset({_TAG + "str", _TAG + "timestamp", _TAG + "merge"})
_VALUE_TAGS = frozenset({_TAG + "int", _TAG + "float", _TAG + "bool"})
_KEY = re.compile(r"[A-Za-z_]{0,60}")
_MAX_DEPTH = 20
_MAX_VALUES = 20_000  # aliases of aliases could otherwise grow without end

# Parser messages and our replacements: the parser's own words may quote the file.
_SYNTAX = (
    ("found undefined alias", "a value that begins with * must stand in quotes"),
    ("found character '\\t'", "a tab; indent with spaces"),
    ("cannot start any token", "a value that begins with this character must stand in quotes"),
    ("mapping values are not allowed", "a colon that is not expected; put the value in quotes"),
    ("but found another document", "a second document begins; one file holds one link"),
    ("unexpected end of stream", "a quote is opened and never closed"),
    ("unknown escape character", "an unknown escape; use single quotes, they know no escapes"),
    ("tag handle", "a value that begins with ! must stand in quotes"),
)


def path_text(parts: tuple[str | int, ...]) -> str:
    """Return a place in the file as people write it: `topics.include[0]`.

    A key is shown as far as it could be one of ours, and `*` for the rest: where a colon or a
    blank is missing, as in `password hunter2`, the rest may be a secret.
    """
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            start = _start(part)
            key = start if start == part else f"{start}*"
            text += f".{key}" if text else key
    return text


def _start(key: str) -> str:
    """Return the part of a key that could be a key of ours or of a SASL extension."""
    match = _KEY.match(key)
    return match[0] if match else ""


def read(path: Path) -> str:
    """Return the text of the file.

    Raises:
        ConfigError: The file cannot be read, or is not text.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        why = f"no such file; `towpath init {path}` writes an example"
    except IsADirectoryError:
        why = "is a folder; name the YAML file in it"
    except UnicodeDecodeError as error:
        why = f"byte {error.start} is not UTF-8; save the file as UTF-8"
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or foreign(error)
    raise ConfigError((ConfigProblem("", f"{path}: {why}"),))


def parse(text: str) -> tuple[dict[str, Tree], tuple[ConfigProblem, ...]]:
    """Return the document's top mapping, and the problems of its syntax.

    Raises:
        ConfigError: The text is not YAML, or not a mapping.
    """
    node = _compose(text)
    builder = _Builder()
    tree = builder.build(node, ()) if node is not None else None
    if builder.values > _MAX_VALUES:
        raise _syntax(f"more than {_MAX_VALUES} values; a link has a few dozen")
    if isinstance(tree, dict):
        return tree, tuple(builder.problems)
    if node is None or node.tag == _TAG + "null":
        raise _syntax("the file is empty; `towpath init` writes an example to start from")
    raise _syntax(
        "the file must hold keys (source, target, link, topics), not a single value or list"
    )


def _compose(text: str) -> Node | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ReusedAnchorWarning)
            node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        raise _marked(error) from None
    except ReusedAnchorWarning:
        raise _syntax("not YAML: the same anchor (&name) is defined twice") from None
    except (YAMLError, ValueError):
        raise _syntax("not YAML: it holds control characters; is it a text file?") from None
    except RecursionError:
        raise _syntax("not YAML of ours: nested too deeply") from None
    return node


def _marked(error: MarkedYAMLError) -> ConfigError:
    mark = error.problem_mark or error.context_mark
    where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    words = error.problem or ""
    if "cannot start any token" in words and "\\t" in words:
        words = "found character '\\t'"
    hint = next((ours for theirs, ours in _SYNTAX if theirs in words), "")
    return _syntax(
        f"not YAML{where}" + (f": {hint}" if hint else "; check indents, colons, brackets")
    )


def _syntax(text: str) -> ConfigError:
    return ConfigError((ConfigProblem("", text),))


class _Builder:
    """Turns nodes into values and collects problems."""

    def __init__(self) -> None:
        self.problems: list[ConfigProblem] = []
        self.values = 0
        self._scalars = YAML(typ="safe", pure=True).constructor

    def build(self, node: Node, at: tuple[str | int, ...]) -> Tree | None:
        """Return the value of `node`, `None` if it has a problem."""
        self.values += 1
        if self.values > _MAX_VALUES:
            return None
        if len(at) > _MAX_DEPTH:
            self._refuse(at[:3], "nested too deeply")
            return None
        if isinstance(node, MappingNode):
            return self._mapping(node, at)
        if isinstance(node, SequenceNode):
            items = [self.build(item, (*at, index)) for index, item in enumerate(node.value)]
            return [item for item in items if item is not None]
        return self._scalar(node, at)

    def _mapping(self, node: MappingNode, at: tuple[str | int, ...]) -> dict[str, Tree]:
        tree: dict[str, Tree] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self._refuse(at, "a key must be a single word, not a list or a mapping")
                continue
            key = str(key_node.value)
            line = key_node.start_mark.line + 1
            if key in lines:
                here = (*at, key)
                self._refuse(here, f"the key stands twice, in lines {lines[key]} and {line}")
                continue
            lines[key] = line
            value = self.build(value_node, (*at, key))
            if value is not None:
                tree[key] = value
        return tree

    def _scalar(self, node: Node, at: tuple[str | int, ...]) -> Tree | None:
        if node.tag in _TEXT_TAGS:
            return str(node.value)
        if node.tag == _TAG + "null":
            self._null(at)
            return None
        if node.tag not in _VALUE_TAGS:
            self._refuse(at, "a value that begins with ! must stand in quotes")
            return None
        try:
            value: int | float | bool = self._scalars.construct_object(node)
        except (ValueError, KeyError):
            self._refuse(at, "does not fit the tag (!!) before it; remove the tag")
            return None
        return value

    def _null(self, at: tuple[str | int, ...]) -> None:
        key = at[-1] if at else ""
        key = key if isinstance(key, str) else ""
        start = _start(key)
        behind = key[len(start) : len(start) + 1]
        if behind == ":":
            self._refuse((*at[:-1], start), "a space is missing behind the colon")
        elif behind == "=" or behind.isspace():
            self._refuse((*at[:-1], start), "a colon is missing behind the key")
        elif at:
            self._refuse(at, "has no value; give it one, or remove the key")

    def _refuse(self, at: tuple[str | int, ...], text: str) -> None:
        self.problems.append(ConfigProblem(path_text(at), text))
