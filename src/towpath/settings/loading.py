"""Load a YAML file as the model of its kind, or report all of its problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from towpath.model.errors import ConfigError, ConfigProblem, Spot
from towpath.model.foreign import foreign
from towpath.model.secret import remember
from towpath.settings.connect_files import connect_files, is_connect, require_no_wishes
from towpath.settings.contradictions import contradictions_in
from towpath.settings.document import Tree, parse, read
from towpath.settings.kinds import KINDS, FileKind
from towpath.settings.link import LinkConfig
from towpath.settings.problems import ENVIRONMENT, faults_of, not_one_of
from towpath.settings.secrets import SECRET_KEYS, VARIABLE, variable
from towpath.settings.sections.clusters import ClusterConfig, LinkCluster
from towpath.settings.shape import PLACED, VALUES_ALONE, Place, Section, path_text
from towpath.settings.spots import Fault

_CLUSTERS = frozenset({"source", "target", "cluster", "controllers"})
_KIND = "kind"
_TRANSFORMED = (
    "records of this link go through Spark, so their offsets and contents are not those of the"
    " source, and this command can say nothing true of them; there are `lint`, `plan`, `diff`,"
    " `apply`, `transform test`, `run`, `pause`, `resume`, `status`, `verify`, `cutover` and"
    " `history`"
    " (docs/howto/transform.md)"
)
C = TypeVar("C", bound=Section)


class _Target(Section):
    """The section of a file that commands need which only use the target."""

    target: LinkCluster


def load(path: Path, *, transforms: bool = False) -> LinkConfig:
    """Load a link's file, or one of Redpanda Connect, with secrets and variables filled in.

    Args:
        path: The file.
        transforms: Whether the caller knows what to do where records go through Spark.

    Raises:
        ConfigError: With every problem of the file, or it describes something else than a link, or
            a link whose records go through Spark, which the caller does not know.
        ClusterError: The link of a file of Redpanda Connect is named after both clusters, and one
            of them does not answer.
    """
    if is_connect(path):
        return connect_files().link(path)
    config = load_as(path, FileKind.LINK, LinkConfig)
    if config.transforms is not None and not transforms:
        place = ("topics", "partitions") if config.transform is None else ("transform",)
        raise ConfigError((problem_at(path, place, _TRANSFORMED),))
    return config


def problem_at(path: Path, place: Place, text: str) -> ConfigProblem:
    """Return a problem with its line and column in a file that was loaded before."""
    return parse(read(path), str(path)).spots.problem(Fault(place, text))


def load_as(path: Path, kind: FileKind, model: type[C]) -> C:
    """Load a file as its model, with secrets, PEM files and variables filled in.

    Args:
        path: The file.
        kind: What it must describe.
        model: The model of that kind.

    Raises:
        ConfigError: With every problem of the file, or it describes something else.
    """
    require_no_wishes()
    init = "towpath init" if kind is FileKind.LINK else f"towpath init --kind {kind}"
    document = parse(read(path, init), str(path))
    described = _described(document.tree)
    if described is not kind:
        text = (
            f"the file describes {KINDS[described].what}, which has commands of its own; this"
            f" command takes {KINDS[kind].file}"
        )
        raise ConfigError((document.spots.problem(Fault((_KIND,), text)),))
    config, faults = _examine(document.tree, model, path.parent, with_environment=True)
    if config is None or faults or document.faults:
        raise ConfigError(check(path))
    return config


def notes(path: Path) -> tuple[str, ...]:
    """Return notes for the operator about a file without problems.

    Raises:
        ConfigError: With every problem of the file.
    """
    if is_connect(path):
        return connect_files().notes(path)
    kind = _described(parse(read(path), str(path)).tree)
    return tuple(load_as(path, kind, KINDS[kind].model).notes())


def _described(tree: Mapping[str, Tree]) -> FileKind:
    """Return what a file describes, or seems to describe: its kind may be missing or wrong."""
    kind = tree.get(_KIND)
    if isinstance(kind, str) and kind in set(FileKind):
        return FileKind(kind)
    return next((kind for kind, each in KINDS.items() if each.sign in tree), FileKind.LINK)


def load_target(path: Path) -> ClusterConfig:
    """Load the section `target` of a file, whatever else the file contains.

    Raises:
        ConfigError: The file has no such section, or with every problem of it.
    """
    document = parse(read(path), str(path))
    if "target" not in document.tree:
        text = "the file has no section `target`, which names the cluster to write to"
        raise ConfigError((ConfigProblem("target", text, Spot(str(path), 1, 1)),))
    variables = _Variables(with_environment=True)
    filled = variables.fill(document.tree["target"], ("target",))
    faults = [f for f in (*document.faults, *variables.faults) if f.place[:1] == ("target",)]
    if not faults:
        try:
            return _Target.model_validate(
                {"target": filled}, context={"folder": path.parent}
            ).target
        except ValidationError as error:
            faults += [fault for _, fault in faults_of(error, LinkConfig)]
    raise ConfigError(tuple(map(document.spots.problem, faults)))


def tree(path: Path) -> Mapping[str, Tree]:
    """Return the content of the file, without resolving secrets and variables.

    Raises:
        ConfigError: The file is not valid YAML.
    """
    document = parse(read(path), str(path))
    if document.faults:
        # Syntax errors may hide further problems; report both kinds at once.
        raise ConfigError(check(path))
    return document.tree


def from_tree(tree: Mapping[str, Tree], folder: Path) -> LinkConfig:
    """Convert a tree to a configuration, with secrets, PEM files and variables filled in.

    Args:
        tree: What `tree` returned.
        folder: The folder that relative paths refer to.

    Raises:
        ConfigError: With every problem of the tree.
    """
    config, faults = _examine(tree, LinkConfig, folder, with_environment=True)
    if config is None or faults:
        raise ConfigError(_of_tree(faults))
    return config


def check_tree(
    tree: Mapping[str, Tree], folder: Path, *, with_environment: bool = True
) -> tuple[ConfigProblem, ...]:
    """Return every problem of the tree of a link's file.

    Args:
        tree: The tree.
        folder: The folder that relative paths refer to.
        with_environment: As for `check`.
    """
    _, faults = _examine(tree, LinkConfig, folder, with_environment=with_environment)
    return _of_tree(faults)


def _of_tree(faults: Iterable[Fault]) -> tuple[ConfigProblem, ...]:
    return tuple(ConfigProblem(path_text(each.place), each.text) for each in faults)


def check(path: Path, *, with_environment: bool = True) -> tuple[ConfigProblem, ...]:
    """Return every problem of the file, in file order.

    Args:
        path: The YAML file.
        with_environment: Whether its variables, secrets and PEM files must exist on this machine.
    """
    if is_connect(path):
        return connect_files().check(path, with_environment=with_environment)
    try:
        document = parse(read(path), str(path))
    except ConfigError as error:
        return error.problems
    known = {fault.place for fault in document.faults}
    model = KINDS[_described(document.tree)].model
    _, found = _examine(
        document.tree, model, path.parent, with_environment=with_environment, unread=known
    )
    faults = (*document.faults, *(fault for fault in found if fault.place not in known))
    problems = map(document.spots.problem, faults)
    return tuple(sorted(problems, key=lambda problem: problem.spot or Spot("", 0, 0)))


def _examine(
    tree: Mapping[str, Tree],
    model: type[C],
    folder: Path,
    *,
    with_environment: bool,
    unread: Iterable[Place] = (),
) -> tuple[C | None, tuple[Fault, ...]]:
    """Return the configuration that a tree describes, if nothing is wrong, and what is.

    Args:
        tree: The tree.
        model: The model of such a file.
        folder: The folder that relative paths refer to.
        with_environment: As for `check`.
        unread: Places of the file that are not in the tree, as they are no YAML of ours.
    """
    variables = _Variables(with_environment=with_environment)
    filled = {key: variables.fill(value, (key,)) for key, value in tree.items()}
    faults = [*variables.faults, *_unknown_kind(tree)]
    known = {fault.place for fault in faults}
    context = {"folder": folder}
    try:
        return model.model_validate(filled, context=context), tuple(faults)
    except ValidationError:
        values = _wrong_values(model, filled, context)
    wrong = [*known, *unread, *variables.open, *(fault.place for _, fault in values)]
    for kind, fault in (*values, *_contradictions(model, filled, wrong, context)):
        told = fault.place in known or variables.left_open(fault.place)
        if not told and (with_environment or kind != ENVIRONMENT):
            faults.append(fault)
    return None, tuple(faults)


def _wrong_values(
    model: type[Section], tree: Mapping[str, Tree], context: Mapping[str, object]
) -> tuple[tuple[str, Fault], ...]:
    """Return the faults of values by themselves, with pydantic's types."""
    try:
        model.model_validate(tree, context={**context, VALUES_ALONE: True})
    except ValidationError as error:
        return tuple(faults_of(error, model))
    return ()


def _contradictions(
    model: type[Section],
    tree: Mapping[str, Tree],
    wrong: Iterable[Place],
    context: Mapping[str, object],
) -> Iterator[tuple[str, Fault]]:
    for fault in contradictions_in(model, tree, wrong, context):
        yield PLACED, fault


def _unknown_kind(tree: Mapping[str, Tree]) -> list[Fault]:
    kind = tree.get(_KIND)
    if kind is None or (isinstance(kind, str) and kind in set(FileKind)):
        return []
    return [Fault((_KIND,), not_one_of(kind, [*FileKind]))]


class _Variables:
    """Replaces `${NAME}` in texts, except where the whole value refers to a secret."""

    def __init__(self, *, with_environment: bool) -> None:
        self.faults: list[Fault] = []
        self._with_environment = with_environment
        self.open: set[Place] = set()  # what a variable that is missing makes unknown

    def left_open(self, place: Place) -> bool:
        """Return whether a missing variable makes the value impossible to check."""
        return any(place[: len(gap)] == gap for gap in self.open)

    def fill(self, value: Tree, at: Place) -> Tree:
        """Return the value with its variables replaced."""
        match value:
            case _ if at[-1] in SECRET_KEYS:
                return value
            case str() if "${" in value:
                return self._text(value, at)
            case dict():
                return {key: self.fill(item, (*at, key)) for key, item in value.items()}
            case list():
                return [self.fill(item, (*at, index)) for index, item in enumerate(value)]
            case _:
                return value

    @staticmethod
    def _value(name: str, at: Place) -> str:
        """Return a variable's value; in a login it may be a secret: part of a command, say."""
        value = variable(name)
        if at[0] in _CLUSTERS and at[1:2] == ("sasl",) and at[-1] != "username":
            remember(value)
        return value

    def _text(self, value: str, at: Place) -> str:
        def put_in(name: str) -> str:
            try:
                return self._value(name, at)
            except PydanticCustomError as missing:
                if self._with_environment:
                    self.faults.append(Fault(at, missing.message()))
            except ValueError as error:
                self.faults.append(Fault(at, foreign(error)))
            self.open.add(at)
            return ""

        return VARIABLE.sub(lambda match: put_in(match[1]), value)
