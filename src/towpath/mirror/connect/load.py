"""Loading of a Redpanda Connect file as the configuration of a link."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from towpath.cluster.admin import Admin
from towpath.mirror.connect.changes import leave_out, merge, set_values
from towpath.mirror.connect.file import ConnectFile
from towpath.mirror.connect.translate import Translation, revealed, translate
from towpath.mirror.connect.variables import Filled, fill
from towpath.model.errors import ConfigError, ConfigProblem, Spot
from towpath.model.nouns import LinkName, Side
from towpath.settings.connect_files import wished
from towpath.settings.document import Document, parse, read
from towpath.settings.link import LinkConfig
from towpath.settings.loading import from_tree
from towpath.settings.problems import faults_of
from towpath.settings.shape import path_text
from towpath.settings.spots import Fault

_UNKNOWN = "extra_forbidden"
_IDS = 10
"""Hex digits of the hash of both cluster ids in the name of a link."""


@dataclass(frozen=True, slots=True)
class Read:
    """A Redpanda Connect file that was read, with its problems.

    Attributes:
        file: Its fields, `None` where some are wrong.
        document: The text as YAML.
        problems: What is wrong.
        left_out: Fields that are not known, and left out because of `--chilled`.
    """

    file: ConnectFile | None
    document: Document | None
    problems: tuple[ConfigProblem, ...]
    left_out: tuple[str, ...] = ()


def link(path: Path) -> LinkConfig:
    """Load a Redpanda Connect file as a link, named after its label and both clusters.

    Raises:
        ConfigError: With every problem of the file.
        ClusterError: A cluster does not tell its id.
    """
    found = _translated(path)
    config = found.config
    if config is None:
        raise ConfigError(found.problems)
    with Admin(config.source, Side.SOURCE) as source, Admin(config.target, Side.TARGET) as target:
        ids = source.cluster.id(), target.cluster.id()
    return config.model_copy(update={"link": LinkName(name_of(config.link, *ids))})


def name_of(label: str, source: str, target: str) -> str:
    """Return the name of a link, from a label and the ids of both clusters."""
    ids = hashlib.sha256(f"{source}\0{target}".encode()).hexdigest()[:_IDS]
    return f"{label}-{ids}"


def check(path: Path, *, with_environment: bool = True) -> tuple[ConfigProblem, ...]:
    """Return every problem of a file.

    Args:
        path: The file.
        with_environment: Whether its variables must be set on this machine.
    """
    try:
        return _translated(path, with_environment=with_environment).problems
    except ConfigError as error:
        return error.problems


def notes(path: Path) -> tuple[str, ...]:
    """Return notes for the operator about a file without problems."""
    found = _translated(path)
    return () if found.problems else found.notes


def translation(file: ConnectFile) -> Translation:
    """Translate a file to that of a link, with its secrets; the label becomes the name."""
    return translate(file, file.input.label, revealed)


def examine(path: Path, *, with_environment: bool = True) -> Read:
    """Read and validate a file, without translating it.

    Raises:
        ConfigError: It cannot be read, or is not YAML.
    """
    filled = fill(read(path), os.environ, required=with_environment)
    missing = tuple(
        ConfigProblem("", text, Spot(str(path), line, column))
        for line, column, text in filled.faults
    )
    document = _parsed(filled, path, missing)
    merge(document.tree)
    set_values(document.tree, wished().sets)
    faults = list(document.faults)
    left_out = _left_out(document, path.parent) if wished().chilled else ()
    file, more = _validated(document, path.parent)
    known = {fault.place for fault in faults}
    faults += [each for _, each in more if each.place not in known]
    found = map(document.spots.problem, faults)
    # What a missing variable leaves behind is no further problem.
    problems = (*missing, *(p for p in found if not p.spot or p.spot.line not in filled.open))
    return Read(file if not problems else None, document, _sorted(problems), left_out)


def _validated(
    document: Document, folder: Path
) -> tuple[ConnectFile | None, list[tuple[str, Fault]]]:
    try:
        return ConnectFile.model_validate(document.tree, context={"folder": folder}), []
    except ValidationError as error:
        return None, [*faults_of(error, ConnectFile)]


def _left_out(document: Document, folder: Path) -> tuple[str, ...]:
    """Remove unknown fields from the tree; return a note on each."""
    _, faults = _validated(document, folder)
    unknown = [each.place for kind, each in faults if kind == _UNKNOWN]
    leave_out(document.tree, unknown)
    return tuple(f"{path_text(place)} is not known, and left out (--chilled)" for place in unknown)


def _parsed(filled: Filled, path: Path, missing: tuple[ConfigProblem, ...]) -> Document:
    try:
        return parse(filled.text, str(path))
    except ConfigError:
        if missing:  # without which it may be no YAML
            raise ConfigError(missing) from None
        raise


@dataclass(frozen=True, slots=True)
class _Translated:
    """A file as that of a link; without a configuration where something is wrong, or unknown."""

    problems: tuple[ConfigProblem, ...] = ()
    notes: tuple[str, ...] = ()
    config: LinkConfig | None = None


def _translated(path: Path, *, with_environment: bool = True) -> _Translated:
    """Read and translate a file.

    Raises:
        ConfigError: It cannot be read, or is not YAML.
    """
    found = examine(path, with_environment=with_environment)
    if found.file is None or found.document is None:
        return _Translated(found.problems)
    made, spots = translation(found.file), found.document.spots
    told = (*found.left_out, *made.notes)
    if made.problems:
        problems = tuple(spots.problem(Fault(each.below, each.text)) for each in made.problems)
        return _Translated(_sorted(problems))
    if not with_environment:
        return _Translated(notes=told)
    try:
        return _Translated(notes=told, config=from_tree(made.tree, path.parent))
    except ConfigError as error:
        problems = tuple(ConfigProblem("", _ours(each), None) for each in error.problems)
        return _Translated(_sorted(problems))


def _ours(problem: ConfigProblem) -> str:
    return f"as the file of a link: {problem.sentence}"


def _sorted(problems: tuple[ConfigProblem, ...]) -> tuple[ConfigProblem, ...]:
    return tuple(sorted(problems, key=lambda each: each.spot or Spot("", 0, 0)))
