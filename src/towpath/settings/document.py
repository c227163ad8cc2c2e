"""The parser of YAML 1.2 files into plain values, which reports every syntax problem.

Values are built here from the parser's nodes, not by its constructor, for three reasons: equal
keys are all found at once, times stay texts, and no message ever quotes the file, where a password
may stand.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from towpath.model.errors import ConfigError, ConfigProblem, Spot
from towpath.model.foreign import foreign
from towpath.settings.shape import Place, key_start
from towpath.settings.spots import Fault, Spots

Tree = dict[str, "Tree"] | list["Tree"] | str | int | float | bool

_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset({_TAG + "str", _TAG + "timestamp", _TAG + "merge"})
_VALUE_TAGS = frozenset({_TAG + "int", _TAG + "float", _TAG + "bool"})
_NUMBER_TAGS = frozenset({_TAG + "int", _TAG + "float"})
_LINE = re.compile(r"line (\d+), column (\d+)")
_MAX_DEPTH = 20
_MAX_VALUES = 20_000  # aliases of aliases could otherwise grow without end

_CONTROL = "not YAML: it holds control characters; is it a text file?"

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


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed YAML text: its top mapping, its faults, and the position of everything."""

    tree: dict[str, Tree]
    faults: tuple[Fault, ...]
    spots: Spots


def text_of(tree: Mapping[str, object]) -> str:
    """Return a tree as YAML, without anchors; a line is as long as what stands in it."""
    yaml = YAML()
    yaml.width = 4096  # a folded expression would be hard to read
    yaml.representer.ignore_aliases = lambda data: True  # noqa: ARG005  # no anchors
    out = StringIO()
    yaml.dump(dict(tree), out)
    return out.getvalue()


def read(path: Path, init: str = "towpath init") -> str:
    """Return the text of the file.

    Args:
        path: The file.
        init: The command that writes an example of such a file.

    Raises:
        ConfigError: The file cannot be read, or is not text.
    """
    spot = None
    try:
        raw = path.read_bytes()
        return raw.decode("utf-8-sig")
    except FileNotFoundError:
        why = f"no such file; `{init} {path}` writes an example"
    except IsADirectoryError:
        why = "is a folder; name the YAML file in it"
    except UnicodeDecodeError as error:
        why = f"byte {error.start} is not UTF-8; save the file as UTF-8"
        spot = _position(str(path), error.object[: error.start].decode("utf-8-sig"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or foreign(error)
    raise ConfigError((ConfigProblem("", why if spot else f"{path}: {why}", spot),))


def _position(file: str, before: str) -> Spot:
    """Return the spot behind a text that the file begins with."""
    return Spot(file, before.count("\n") + 1, len(before) - before.rfind("\n"))


def parse(text: str, file: str) -> Document:
    """Parse a YAML text.

    Args:
        text: The YAML text.
        file: Path of its file, for messages.

    Raises:
        ConfigError: The text is not YAML, or not a mapping.
    """
    node = _compose(text, file)
    builder = _Builder(file)
    tree = builder.build(node, ()) if node is not None else None
    if builder.values > _MAX_VALUES:
        raise _syntax(f"more than {_MAX_VALUES} values; a link has a few dozen", file)
    if isinstance(tree, dict):
        return Document(tree, tuple(builder.faults), builder.spots)
    if node is None or node.tag == _TAG + "null":
        raise _syntax("the file is empty; `towpath init` writes an example to start from", file)
    raise _syntax(
        "the file must hold keys (source, target, link, topics), not a single value or list", file
    )


def _compose(text: str, file: str) -> Node | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ReusedAnchorWarning)
            node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        raise _marked(error, file) from None
    except ReusedAnchorWarning as error:
        *_, (line, column) = _LINE.findall(foreign(error))
        raise _syntax(
            "not YAML: the same anchor (&name) is defined twice", file, int(line), int(column)
        ) from None
    except ReaderError as error:
        where = _position(file, text[: error.position])
        raise _syntax(_CONTROL, file, where.line, where.column) from None
    except (YAMLError, ValueError):
        raise _syntax(_CONTROL, file) from None
    except RecursionError:
        raise _syntax("not YAML of ours: nested too deeply", file) from None
    return node


def _marked(error: MarkedYAMLError, file: str) -> ConfigError:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    words = error.problem or ""
    if "cannot start any token" in words and "\\t" in words:
        words = "found character '\\t'"
    hint = next((ours for theirs, ours in _SYNTAX if theirs in words), "")
    text = f"not YAML: {hint}" if hint else "not YAML; check indents, colons, brackets"
    return _syntax(text, file, line, column)


def _syntax(text: str, file: str, line: int = 1, column: int = 1) -> ConfigError:
    return ConfigError((ConfigProblem("", text, Spot(file, line, column)),))


class _Builder:
    """Turns YAML nodes into values, collects faults, and keeps the line of each value."""

    def __init__(self, file: str) -> None:
        self.faults: list[Fault] = []
        self.spots = Spots(file)
        self.values = 0
        self._scalars = YAML(typ="safe", pure=True).constructor

    def build(self, node: Node, at: Place) -> Tree | None:
        """Convert `node` into a plain value, `None` if it has a problem."""
        self.values += 1
        if self.values > _MAX_VALUES:
            return None
        self.spots.add_value(at, node)
        if len(at) > _MAX_DEPTH:
            self._refuse(at[:3], "nested too deeply")
            return None
        if isinstance(node, MappingNode):
            return self._mapping(node, at)
        if isinstance(node, SequenceNode):
            items = [self.build(item, (*at, index)) for index, item in enumerate(node.value)]
            # An item with a fault keeps its place, so that those behind it keep their paths.
            return ["" if item is None else item for item in items]
        return self._scalar(node, at)

    def _mapping(self, node: MappingNode, at: Place) -> dict[str, Tree]:
        tree: dict[str, Tree] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self._refuse(at, "a key must be a single word, not a list or a mapping")
                continue
            key = str(key_node.value)
            line = key_node.start_mark.line + 1
            here = (*at, key)
            self.spots.add_key(here, key_node)
            if key in lines:
                twice = f"the key stands twice, in lines {lines[key]} and {line}"
                self._refuse(here, twice, on_key=True)
                continue
            lines[key] = line
            value = self.build(value_node, here)
            if value is not None:
                tree[key] = value
        return tree

    def _scalar(self, node: Node, at: Place) -> Tree | None:
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
            self._refuse(at, self._unfit(node))
            return None
        return value

    @staticmethod
    def _unfit(node: Node) -> str:
        digits = str(node.value).lstrip("+-")
        if node.tag in _NUMBER_TAGS and digits.isdigit():  # Python limits how many it reads
            return f"is a number of {len(digits)} digits, which is too large"
        return "does not fit the tag (!!) before it; remove the tag"

    def _null(self, at: Place) -> None:
        key = at[-1] if at else ""
        key = key if isinstance(key, str) else ""
        start = key_start(key)
        behind = key[len(start) : len(start) + 1]
        if behind == ":":
            why = "a space is missing behind the colon"
        elif behind == "=" or behind.isspace():
            why = "a colon is missing behind the key"
        elif at:
            self._refuse(at, "has no value; give it one, or remove the key")
            return
        else:
            return
        self.spots.rename(at, (*at[:-1], start))
        self._refuse((*at[:-1], start), why, on_key=True)

    def _refuse(self, at: Place, text: str, *, on_key: bool = False) -> None:
        self.faults.append(Fault(at, text, on_key))
