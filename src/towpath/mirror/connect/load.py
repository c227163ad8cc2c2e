"""Loading of a Redpanda Connect file as the configuration of a link."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from towpath.cluster.admin import Admin
from towpath.mirror.connect.both_ways import both_ways
from towpath.mirror.connect.changes import leave_out, merge, set_values
from towpath.mirror.connect.file import ConnectFile
from towpath.mirror.connect.pairs import Pair, pairs_of
from towpath.mirror.connect.places import connect_place
from towpath.mirror.connect.translate import Translation, revealed, translate
from towpath.mirror.connect.validated import validated
from towpath.mirror.connect.variables import Filled, fill
from towpath.model.errors import ConfigError, ConfigProblem, Spot
from towpath.model.nouns import LinkName, Side
from towpath.settings.connect_files import PAIR, wished
from towpath.settings.document import Document, parse, read
from towpath.settings.link import LinkConfig
from towpath.settings.loading import check_tree, from_tree
from towpath.settings.shape import Place, path_text
from towpath.settings.spots import Fault

_UNKNOWN = "extra_forbidden"
_SIDE = len(("input", "redpanda_migrator"))
_IDS = 10
"""Hex digits of the hash of both cluster ids in the name of a link."""


@dataclass(frozen=True, slots=True)
class Read:
    """A pair of a Redpanda Connect file that was read, with its problems.

    Attributes:
        pair: The pair.
        file: Its fields, `None` where some are wrong.
        document: The text as YAML.
        problems: What is wrong.
        left_out: Fields that are not known, and left out because of `--chilled`.
        rest: Its fields without those that are wrong, if that is enough to look for more.
        unset: Variables that are not set and have no default, with line and column.
        open: The lines whose values they leave open.
    """

    pair: Pair
    file: ConnectFile | None
    document: Document
    problems: tuple[ConfigProblem, ...]
    left_out: tuple[str, ...] = ()
    rest: ConnectFile | None = None
    unset: tuple[tuple[str, int, int], ...] = ()
    open: frozenset[int] = frozenset()

    def is_open(self, problem: ConfigProblem) -> bool:
        """Return whether a problem may come from a variable that is not set."""
        return (
            problem not in self.problems
            and problem.spot is not None
            and (problem.spot.line in self.open)
        )

    def problem(self, place: Place, text: str) -> ConfigProblem:
        """Return a problem at a place of the pair."""
        return self.document.spots.problem(Fault(self.pair.located(place), text))


def link(path: Path) -> LinkConfig:
    """Load a Redpanda Connect file as a link, named after its label and both clusters.

    Raises:
        ConfigError: With every problem of the file.
        ClusterError: A cluster does not tell its id.
    """
    found = _translated(examine(path), path)
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
    """Return every problem of a file, in all its pairs or the wanted one.

    Args:
        path: The file.
        with_environment: Whether its variables must be set on this machine.
    """
    try:
        read = _read(path, with_environment=with_environment)
    except ConfigError as error:
        return error.problems
    found = (_translated(each, path, with_environment=with_environment) for each in read)
    return _sorted(tuple(dict.fromkeys(p for each in found for p in each.problems)))


def notes(path: Path) -> tuple[str, ...]:
    """Return notes for the operator about a file without problems."""
    read = _read(path)
    found = [(each.pair.label, _translated(each, path)) for each in read]
    if any(each.problems for _, each in found):
        return ()
    said = (
        f"pair {label}: {note}" if len(read) > 1 else note
        for label, each in found
        for note in each.notes
    )
    links = {label: each.config for label, each in found if each.config is not None}
    return (*said, *both_ways(links))


def pairs(path: Path) -> tuple[str, ...]:
    """Return the labels of the pairs of a file.

    Raises:
        ConfigError: It cannot be read, or is not YAML.
    """
    return tuple(each.label for each in pairs_of(_document(path, required=False)[1].tree).pairs)


def translation(read: Read) -> Translation:
    """Translate a file to that of a link, with its secrets; the label becomes the name."""
    assert read.file  # noqa: S101, it has no problem
    return translate(read.file, read.file.input.label, revealed, number=read.pair.number)


def examine(path: Path, *, with_environment: bool = True) -> Read:
    """Read and validate a file with one pair, or the wanted one of several.

    Raises:
        ConfigError: It cannot be read, is not YAML, or has several pairs of which none is wanted.
    """
    read = _read(path, with_environment=with_environment)
    if len(read) > 1:
        labels = ", ".join(each.pair.label for each in read)
        text = f"{path} has several pairs ({labels}); name one: {PAIR} {read[0].pair.label}"
        raise ConfigError((ConfigProblem(PAIR, text),))
    return read[0]


def _read(path: Path, *, with_environment: bool = True) -> tuple[Read, ...]:
    """Read the wanted pair of a file, or all.

    Raises:
        ConfigError: It cannot be read, is not YAML, or has no such pair, or none at all.
    """
    filled, document, missing = _document(path, required=with_environment)
    found = pairs_of(document.tree)
    misplaced = [document.spots.problem(Fault(each.below, each.text)) for each in found.problems]
    if not found.pairs:
        raise ConfigError((*missing, *misplaced))
    common = (*missing, *misplaced)
    return tuple(
        _examined(pair, filled, document, common, path) for pair in _wanted(found.pairs, path)
    )


def _wanted(pairs: tuple[Pair, ...], path: Path) -> tuple[Pair, ...]:
    label = wished().pair
    found = tuple(each for each in pairs if label in {None, each.label})
    if not found:
        known = ", ".join(each.label for each in pairs)
        text = f"{path} has no pair {label}; it has {known}"
        raise ConfigError((ConfigProblem(PAIR, text),))
    return found


def _document(
    path: Path, *, required: bool = True
) -> tuple[Filled, Document, tuple[ConfigProblem, ...]]:
    """Read a file as YAML, with what was wished for; return its missing variables, too."""
    filled = fill(read(path), os.environ, required=required)
    missing = tuple(
        ConfigProblem("", text, Spot(str(path), line, column))
        for line, column, text in filled.faults
    )
    document = _parsed(filled, path, missing)
    merge(document.tree)
    set_values(document.tree, wished().sets)
    return filled, document, missing


def _examined(
    pair: Pair, filled: Filled, document: Document, common: tuple[ConfigProblem, ...], path: Path
) -> Read:
    faults = list(document.faults)
    left_out = _left_out(pair, path.parent) if wished().chilled else ()
    file, more, rest = validated(pair.tree, path.parent)
    known = {fault.place for fault in faults}
    located = (Fault(pair.located(each.place), each.text) for _, each in more)
    faults += [each for each in located if each.place not in known]
    found = map(document.spots.problem, faults)
    # What a missing variable leaves behind is no further problem.
    problems = (*common, *(p for p in found if not p.spot or p.spot.line not in filled.open))
    sound = file if not problems else None
    lines = frozenset(filled.open)
    return Read(pair, sound, document, _sorted(problems), left_out, rest, filled.unset, lines)


def _left_out(pair: Pair, folder: Path) -> tuple[str, ...]:
    """Remove unknown fields from the tree; return a note on each."""
    _, faults, _ = validated(pair.tree, folder)
    unknown = [each.place for kind, each in faults if kind == _UNKNOWN]
    leave_out(pair.tree, unknown)
    told = (path_text(pair.located(place)) for place in unknown)
    return tuple(f"{place} is not known, and left out (--chilled)" for place in told)


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


def _translated(found: Read, path: Path, *, with_environment: bool = True) -> _Translated:
    """Translate a file that was read from a path."""
    if problems := problems_of(found, path.parent, with_environment=with_environment):
        return _Translated(problems)
    made = translation(found)
    told = (*found.left_out, *made.notes)
    if not with_environment:
        return _Translated(notes=told)
    return _Translated(notes=told, config=from_tree(made.tree, path.parent))


def problems_of(
    found: Read, folder: Path, *, with_environment: bool = True
) -> tuple[ConfigProblem, ...]:
    """Return what is wrong with a pair, and what no link can do of the rest.

    Args:
        found: The pair.
        folder: The folder of its file.
        with_environment: Whether variables and files must be on this machine.
    """
    if found.rest is None:
        return _sorted(found.problems)
    made = translate(found.rest, found.rest.input.label, revealed, number=found.pair.number)
    told = [*found.problems]
    _tell(told, (found.problem(each.below, each.text) for each in made.problems))
    parts = {tuple(map(str, each.below)) for each in made.problems}
    below = check_tree(made.tree, folder, with_environment=with_environment)
    _tell(told, (_placed(found, each) for each in below if not _is_told(each, parts)))
    return _sorted(tuple(each for each in told if not found.is_open(each)))


def _tell(told: list[ConfigProblem], more: Iterable[ConfigProblem]) -> None:
    """Add problems where nothing is wrong yet."""
    known = {each.spot for each in told}
    told += [each for each in more if each.spot not in known]


def _is_told(problem: ConfigProblem, places: Iterable[tuple[str, ...]]) -> bool:
    """Whether a problem of the link's file is in a part that Connect's file has wrong."""
    part, _ = connect_place(problem.path)
    deep = len(part) > _SIDE
    return deep and any(each[: len(part)] == part for each in places)


def _placed(found: Read, problem: ConfigProblem) -> ConfigProblem:
    """Return a problem of the link's file at the place in Connect's file that it comes from."""
    place, alone = connect_place(problem.path)
    said = problem.text if alone else f"as the file of a link: {problem.sentence}"
    return found.problem(place, said)


def _sorted(problems: tuple[ConfigProblem, ...]) -> tuple[ConfigProblem, ...]:
    return tuple(sorted(problems, key=lambda each: each.spot or Spot("", 0, 0)))
