"""Load a YAML file as a `LinkConfig`, or report all of its problems."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from towpath.config.document import Tree, parse, path_text, read
from towpath.config.link import LinkConfig
from towpath.config.problems import ENVIRONMENT, problems_of
from towpath.config.secrets import SECRET_KEYS, VARIABLE, variable
from towpath.config.shape import Place
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.model.secret import remember

_CLUSTERS = frozenset({"source", "target"})


def load(path: Path) -> LinkConfig:
    """Return the content of the file, with secrets, PEM files and variables filled in.

    Raises:
        ConfigError: With every problem of the file.
    """
    return from_tree(tree(path), path.parent)


def tree(path: Path) -> Mapping[str, Tree]:
    """Return the content of the file, without resolving secrets and variables.

    Raises:
        ConfigError: The file is not valid YAML.
    """
    found, form = parse(read(path))
    if form:
        # Syntax errors may hide further problems; report both kinds at once.
        raise ConfigError(check(path))
    return found


def from_tree(tree: Mapping[str, Tree], folder: Path) -> LinkConfig:
    """Return the configuration of a tree, with secrets, PEM files and variables filled in.

    Args:
        tree: What `tree` returned.
        folder: The folder that relative paths refer to.

    Raises:
        ConfigError: With every problem of the tree.
    """
    config, problems = _examine(tree, folder, with_environment=True)
    if config is None or problems:
        raise ConfigError(problems)
    return config


def check(path: Path, *, with_environment: bool = True) -> tuple[ConfigProblem, ...]:
    """Return every problem of the file.

    Args:
        path: The YAML file.
        with_environment: Whether its variables, secrets and PEM files must exist on this machine.
    """
    try:
        found, form = parse(read(path))
    except ConfigError as error:
        return error.problems
    known = {problem.path for problem in form}
    _, problems = _examine(found, path.parent, with_environment=with_environment)
    return (*form, *(problem for problem in problems if problem.path not in known))


def _examine(
    tree: Mapping[str, Tree], folder: Path, *, with_environment: bool
) -> tuple[LinkConfig | None, tuple[ConfigProblem, ...]]:
    variables = _Variables(with_environment=with_environment)
    filled = {key: variables.fill(value, (key,)) for key, value in tree.items()}
    problems = list(variables.problems)
    known = {problem.path for problem in problems}
    config = None
    try:
        config = LinkConfig.model_validate(filled, context={"folder": folder})
    except ValidationError as error:
        for place, kind, problem in problems_of(error, LinkConfig):
            told = problem.path in known or variables.left_open(place)
            if not told and (with_environment or kind != ENVIRONMENT):
                problems.append(problem)
    return config, tuple(problems)


class _Variables:
    """Replaces `${NAME}` in texts, except where the whole value refers to a secret."""

    def __init__(self, *, with_environment: bool) -> None:
        self.problems: list[ConfigProblem] = []
        self._with_environment = with_environment
        self._open: set[Place] = set()

    def left_open(self, place: Place) -> bool:
        """Return whether a variable is missing, so that the value cannot be checked."""
        return any(place[: len(gap)] == gap for gap in self._open)

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
                    self.problems.append(ConfigProblem(path_text(at), missing.message()))
            except ValueError as error:
                self.problems.append(ConfigProblem(path_text(at), foreign(error)))
            self._open.add(at)
            return ""

        return VARIABLE.sub(lambda match: put_in(match[1]), value)
