"""Regular expressions that select names, and the renaming of selected items."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator

from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.settings.shape import Placed

if TYPE_CHECKING:
    from towpath.bloblang.template import TextTemplate

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@cache
def pattern(text: str) -> re.Pattern[str]:
    """Compile a regular expression; Python's future warnings count as errors.

    A dot matches all characters: names of groups may have line breaks, and `.*` means every one.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return re.compile(text, re.DOTALL)


def _expression(text: str) -> str:
    try:
        pattern(text)
    except (re.error, FutureWarning, DeprecationWarning, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r} is not a regular expression: {foreign(error)}") from None
    return text


Expression = Annotated[str, AfterValidator(_expression)]


def require_expressions(texts: tuple[str, ...], path: str) -> tuple[str, ...]:
    """Return texts unchanged if all are valid regular expressions.

    Args:
        texts: The texts.
        path: The option that they come from.

    Raises:
        ConfigError: One of them is none.
    """
    try:
        return tuple(map(_expression, texts))
    except ValueError as error:
        raise ConfigError((ConfigProblem(path, foreign(error)),)) from None


def fits(text: str, expressions: tuple[str, ...]) -> bool:
    """Return whether one of the regular expressions matches the whole text."""
    return any(pattern(each).fullmatch(text) for each in expressions)


TOPIC_METADATA = "kafka_topic"
"""What expressions call the name of a topic at the source."""
_METADATA = {"topic": TOPIC_METADATA, "subject": "schema_registry_subject"}
"""What expressions call the name of a thing, as Redpanda Connect does."""


@dataclass(frozen=True, slots=True)
class Renaming:
    """A template that makes target names from source names.

    Attributes:
        what: The kind of thing, which is also the placeholder for its whole name, such as `topic`.
        path: The key of the file that has the template.
        template: The name on the target; `{topic}` stands for the name on the source, `{1}` and
            `{name}` for groups of the first expression that matches it; or a text with expressions
            of Bloblang, `${! @kafka_topic }`.
        include: The expressions.
    """

    what: str
    path: str
    template: str
    include: tuple[str, ...]

    @property
    def whole(self) -> str:
        """The template that leaves names unchanged."""
        return f"{{{self.what}}}"

    def check(self) -> None:
        """Raise if a placeholder is not a group of each expression.

        Raises:
            ValueError: One is not, or an expression asks for more than the name.
        """
        if is_template(self.template):
            self._check_template()
            return
        for name in PLACEHOLDER.findall(self.template):
            for number, expression in enumerate(self.include):
                groups = _groups_of(expression)
                if name not in (self.what, *groups):
                    known = ", ".join(f"{{{each}}}" for each in (self.what, *groups))
                    raise ValueError(
                        f"{{{name}}} is no group of `include[{number}]` ({expression!r}), for which"
                        f" there is {known}"
                    )

    def faults(self) -> Iterator[Placed]:
        """Yield what is wrong with the template as the key `rename` of a section."""
        try:
            self.check()
        except ValueError as error:
            yield Placed(("rename",), foreign(error))

    def name(self, source: str) -> str:
        """Return the target name of a source name.

        Raises:
            ConfigError: A group of the expression matches nothing, or the name is empty.
        """
        if is_template(self.template):
            name = self._evaluated(source)
        else:
            name = PLACEHOLDER.sub(lambda found: self._filled(found[1], source), self.template)
        if not name:
            text = f"{self.what} {source} has no name on the target"
            raise self.misnamed(f"{text}: {self.template!r} gives it an empty one")
        return name

    def misnamed(self, text: str) -> ConfigError:
        """Return the error for an invalid target name."""
        return ConfigError((ConfigProblem(self.path, text),))

    def _check_template(self) -> None:
        known = _METADATA.get(self.what)
        if known is None:
            raise ValueError(f"expressions are not known here; write {self.whole} for the name")
        made = template_of(self.template)
        wrong = sorted(made.metadata - {known})
        if wrong or made.reads_content:
            what = f"@{wrong[0]}" if wrong and wrong[0] else "the message"
            raise ValueError(f"asks for {what}; a name is made of @{known} alone")
        if not made.metadata:
            raise ValueError(f"would give all {self.what}s one name; use @{known}")

    def _evaluated(self, source: str) -> str:
        try:
            return template_of(self.template).text_of({_METADATA[self.what]: source})
        except ValueError as error:
            why = f"{self.what} {source} has no name on the target: {foreign(error)}"
            raise self.misnamed(why) from None

    def _filled(self, placeholder: str, source: str) -> str:
        if placeholder == self.what:
            return source
        found = next(filter(None, (pattern(text).fullmatch(source) for text in self.include)), None)
        text = found and found[int(placeholder) if placeholder.isdigit() else placeholder]
        if text is None:
            raise self.misnamed(
                f"{self.what} {source} has no name on the target: it has nothing for the group"
                f" {{{placeholder}}}"
            )
        return text


def is_template(text: str) -> bool:
    """Return whether a name is made by expressions of Bloblang."""
    return "${!" in text


@cache
def template_of(text: str) -> TextTemplate:
    """Return a text with expressions, parsed.

    Raises:
        ValueError: An expression is none.
    """
    # Few files have expressions, and their grammar takes longer to load than all other settings.
    from towpath.bloblang.template import parse_template  # noqa: PLC0415

    return parse_template(text)


def _groups_of(expression: str) -> tuple[str, ...]:
    found = pattern(expression)
    return (*map(str, range(1, found.groups + 1)), *found.groupindex)


def collisions(names: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the target names that several source names would share, with the sources.

    Args:
        names: Source name and target name of each thing.
    """
    owners: dict[str, list[str]] = {}
    for source, target in names:
        owners.setdefault(target, []).append(source)
    return {target: tuple(sorted(each)) for target, each in owners.items() if len(each) > 1}
