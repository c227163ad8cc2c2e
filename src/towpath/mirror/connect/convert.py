"""Conversion of a file of Redpanda Connect to the file of a link, which names its secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from towpath.mirror.connect.load import Read, examine, problems_of
from towpath.mirror.connect.logins import PEM_TEXTS
from towpath.mirror.connect.pairs import DEFAULT_LABEL
from towpath.mirror.connect.translate import Translation, translate
from towpath.model.errors import ConfigError, ConfigProblem, Spot
from towpath.model.secret import Secret
from towpath.settings.document import parse, read, text_of
from towpath.settings.loading import check_tree
from towpath.settings.secrets import VARIABLE
from towpath.settings.shape import Place, path_text

LINK = "--link"
"""The option that names the link."""
_NAME = "migrator"
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """The file of a link, converted from a file of Redpanda Connect.

    Attributes:
        text: The YAML text.
        secrets: The environment variables that it names and that the user must set, each with the
            place in Connect's file where its value stands.
        notes: What is different from Connect, in sentences.
    """

    text: str
    secrets: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def convert(path: Path, link: str | None = None) -> ConvertedFile:
    """Convert a file of Redpanda Connect to the file of a link.

    Args:
        path: The file of Redpanda Connect; the variables that it names need not be set.
        link: The name of the link; by default the label of input and output, so that two pairs of
            a file are two links, or `migrator` without one.

    Raises:
        ConfigError: With every problem of the file, or the name is none of a link.
    """
    found = examine(path, with_environment=False)
    problems = problems_of(found, path.parent, with_environment=False)
    if problems or found.file is None:
        raise ConfigError(problems)
    references, pair = _References(path), found.pair
    made = translate(
        found.file,
        link or _named(found.file.input.label),
        lambda place, secret: references.reveal(pair.located(place), secret),
        pair.number,
    )
    named = check_tree(made.tree, path.parent, with_environment=False)
    if wrong := [ConfigProblem(LINK, each.text) for each in named if each.path == "link"]:
        raise ConfigError(tuple(wrong))
    text = _text(path, made)
    notes = (*references.notes, *found.left_out, *made.notes, *_unset(found, text, path))
    return ConvertedFile(text, tuple(references.wanted), notes)


def _named(label: str) -> str:
    return _NAME if label == DEFAULT_LABEL else label


def _unset(found: Read, text: str, path: Path) -> Iterator[str]:
    """Yield a note on each variable that is not set and that the new file names as well.

    Raises:
        ConfigError: What stands in the place of one is made into something else, such as a regular
            expression of a topic's name, so that its value is needed.
    """
    problems = []
    for name, line, column in dict.fromkeys(found.unset):
        if f"${{{name}}}" in text:
            yield f"the new file names variable {name} too, which is not set here"
        elif f"env:{name}" not in text:
            why = f"variable {name} is not set: its value becomes part of something, so set it"
            problems.append(ConfigProblem("", why, Spot(str(path), line, column)))
    if problems:
        raise ConfigError(tuple(problems))


class _References:
    """Names the variables that secrets come from.

    Args:
        path: The file, read once more as it is: a secret may be a variable there already.
    """

    def __init__(self, path: Path) -> None:
        self.wanted: list[tuple[str, str]] = []
        self.notes: list[str] = []
        try:
            self._tree: object = parse(read(path), str(path)).tree
        except ConfigError:
            self._tree = {}  # YAML only with its variables filled in

    def reveal(self, place: Place, secret: Secret) -> object:
        del secret
        side = "SOURCE" if place[0] == "input" else "TARGET"
        registry = "_REGISTRY" if "schema_registry" in place else ""
        name = f"{side}{registry}_{str(place[-1]).upper()}"
        if place[-1] in PEM_TEXTS:
            file = f"{name.lower()}.pem"
            self.notes.append(f"write the text of {path_text(place)} to {file}, beside this file")
            return file
        raw = self._raw(place)
        whole = VARIABLE.fullmatch(raw)
        if whole and _WORD.fullmatch(whole[1]):
            return f"env:{whole[1]}"
        self.wanted.append((name, path_text(place)))
        return f"env:{name}"

    def _raw(self, place: Place) -> str:
        value = self._tree
        for part in place:
            if isinstance(value, dict) and isinstance(part, str):
                value = value.get(part)
            elif isinstance(value, list) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                return ""
        return value if isinstance(value, str) else ""


def _text(path: Path, made: Translation) -> str:
    head = f"# Made by `towpath convert {path.name}` from a file of Redpanda Connect."
    return f"{head}\n{text_of(made.tree)}"
