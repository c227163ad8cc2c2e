"""From the path of a YAML file to a `LinkConfig`, or to all of its problems."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from towpath.config.document import Tree, parse, path_text, read
from towpath.config.link import LinkConfig
from towpath.config.problems import ENVIRONMENT, problems_of
from towpath.config.secrets import SECRET_KEYS, VARIABLE, variable
from towpath.config.shape import Place
from towpath.model.errors import ConfigError, Problem


def load(path: Path) -> LinkConfig:
    """Return what the file says, secrets, PEM files and variables put in.

    Raises:
        ConfigError: With every problem of the file.
    """
    config, problems = _examine(path, with_environment=True)
    if config is None or problems:
        raise ConfigError(problems)
    return config


def check(path: Path, *, with_environment: bool = True) -> tuple[Problem, ...]:
    """Return every problem of the file.

    Args:
        path: The YAML file.
        with_environment: Whether its variables, secrets and PEM files must exist on this machine.
    """
    try:
        return _examine(path, with_environment=with_environment)[1]
    except ConfigError as error:
        return error.problems


def _examine(
    path: Path, *, with_environment: bool
) -> tuple[LinkConfig | None, tuple[Problem, ...]]:
    tree, form = parse(read(path))
    variables = _Variables(with_environment=with_environment)
    filled = {key: variables.fill(value, (key,)) for key, value in tree.items()}
    problems = [*form, *variables.problems]
    known = {problem.path for problem in problems}
    config = None
    try:
        config = LinkConfig.model_validate(filled, context={"folder": path.parent})
    except ValidationError as error:
        for place, kind, problem in problems_of(error, LinkConfig):
            told = problem.path in known or variables.left_open(place)
            if not told and (with_environment or kind != ENVIRONMENT):
                problems.append(problem)
    return config, tuple(problems)


class _Variables:
    """Puts `${NAME}` into texts, except where the whole value is a secret's reference."""

    def __init__(self, *, with_environment: bool) -> None:
        self.problems: list[Problem] = []
        self._with_environment = with_environment
        self._open: set[Place] = set()

    def left_open(self, place: Place) -> bool:
        """Return whether a variable is missing here, so that nothing can be said of the value."""
        return any(place[: len(gap)] == gap for gap in self._open)

    def fill(self, value: Tree, at: Place) -> Tree:
        """Return the value with its variables put in."""
        match value:
            case str() if at[-1] not in SECRET_KEYS and "${" in value:
                return self._text(value, at)
            case dict():
                return {key: self.fill(item, (*at, key)) for key, item in value.items()}
            case list():
                return [self.fill(item, (*at, index)) for index, item in enumerate(value)]
            case _:
                return value

    def _text(self, value: str, at: Place) -> str:
        def put_in(name: str) -> str:
            try:
                return variable(name)
            except PydanticCustomError as missing:
                if self._with_environment:
                    self.problems.append(Problem(path_text(at), missing.message()))
            except ValueError as error:
                self.problems.append(Problem(path_text(at), str(error)))
            self._open.add(at)
            return ""

        return VARIABLE.sub(lambda match: put_in(match[1]), value)
