"""A file of Redpanda Connect, read as the configuration of a link."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from towpath.cluster.admin import Admin
from towpath.mirror.connect.file import ConnectFile
from towpath.mirror.connect.translate import Translation, revealed, translate
from towpath.mirror.connect.variables import Filled, fill
from towpath.model.errors import ConfigError, ConfigProblem, Spot
from towpath.model.nouns import Side
from towpath.settings.document import Document, parse, read
from towpath.settings.link import LinkConfig
from towpath.settings.loading import from_tree
from towpath.settings.problems import faults_of
from towpath.settings.spots import Fault

_IDS = 10
"""Hex digits of the hash of both cluster ids in the name of a link."""


@dataclass(frozen=True, slots=True)
class Read:
    """A file that was read.

    Attributes:
        file: Its fields, `None` where some are wrong.
        document: The text as YAML.
        problems: What is wrong.
    """

    file: ConnectFile | None
    document: Document | None
    problems: tuple[ConfigProblem, ...]


def link(path: Path) -> LinkConfig:
    """Return a file as the configuration of a link, named after its label and both clusters.

    Raises:
        ConfigError: With every problem of the file.
        ClusterError: A cluster does not tell its id.
    """
    file, problems = _examined(path)
    if file is None or problems:
        raise ConfigError(problems)
    config = _config(file, file.input.label, path)
    with Admin(config.source, Side.SOURCE) as source, Admin(config.target, Side.TARGET) as target:
        ids = source.cluster.id(), target.cluster.id()
    return config.model_copy(update={"link": name_of(file.input.label, *ids)})


def name_of(label: str, source: str, target: str) -> str:
    """Return the name of the link of a label between two clusters."""
    ids = hashlib.sha256(f"{source}\0{target}".encode()).hexdigest()[:_IDS]
    return f"{label}-{ids}"


def check(path: Path, *, with_environment: bool = True) -> tuple[ConfigProblem, ...]:
    """Return every problem of a file.

    Args:
        path: The file.
        with_environment: Whether its variables must be set on this machine.
    """
    try:
        _, problems = _examined(path, with_environment=with_environment)
    except ConfigError as error:
        return error.problems
    return problems


def notes(path: Path) -> tuple[str, ...]:
    """Return what a person should know of a file without problems."""
    file, problems = _examined(path)
    return () if file is None or problems else translation(file).notes


def translation(file: ConnectFile) -> Translation:
    """Return a file as that of a link, with its secrets."""
    return translate(file, file.input.label, revealed)


def examine(path: Path, *, with_environment: bool = True) -> Read:
    """Read a file, without translating it.

    Raises:
        ConfigError: It cannot be read, or is not YAML.
    """
    filled = fill(read(path), os.environ, required=with_environment)
    missing = tuple(
        ConfigProblem("", text, Spot(str(path), line, column))
        for line, column, text in filled.faults
    )
    document = _parsed(filled, path, missing)
    faults = list(document.faults)
    file = None
    try:
        file = ConnectFile.model_validate(document.tree, context={"folder": path.parent})
    except ValidationError as error:
        known = {fault.place for fault in faults}
        faults += [each for _, each in faults_of(error, ConnectFile) if each.place not in known]
    found = map(document.spots.problem, faults)
    # What a missing variable leaves behind is no further problem.
    problems = (*missing, *(p for p in found if not p.spot or p.spot.line not in filled.open))
    return Read(file if not problems else None, document, _sorted(problems))


def _parsed(filled: Filled, path: Path, missing: tuple[ConfigProblem, ...]) -> Document:
    try:
        return parse(filled.text, str(path))
    except ConfigError:
        if missing:  # without which it may be no YAML
            raise ConfigError(missing) from None
        raise


def _examined(
    path: Path, *, with_environment: bool = True
) -> tuple[ConnectFile | None, tuple[ConfigProblem, ...]]:
    found = examine(path, with_environment=with_environment)
    if found.file is None or found.document is None:
        return None, found.problems
    made = translation(found.file)
    spots = found.document.spots
    problems = tuple(spots.problem(Fault(each.below, each.text)) for each in made.problems)
    if not problems and with_environment:
        try:
            _config(found.file, found.file.input.label, path)
        except ConfigError as error:
            problems = tuple(ConfigProblem("", _ours(each), None) for each in error.problems)
    return found.file, _sorted(problems)


def _ours(problem: ConfigProblem) -> str:
    return f"as the file of a link: {problem.sentence}"


def _config(file: ConnectFile, name: str, path: Path) -> LinkConfig:
    return from_tree(translate(file, name, revealed).tree, path.parent)


def _sorted(problems: tuple[ConfigProblem, ...]) -> tuple[ConfigProblem, ...]:
    return tuple(sorted(problems, key=lambda each: each.spot or Spot("", 0, 0)))
