"""Which topics are mirrored, and under which names."""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import Annotated

from pydantic import AfterValidator, Field

from towpath.config.problems import not_empty
from towpath.config.section import Section
from towpath.model.errors import ConfigError, Problem
from towpath.model.nouns import LEDGER, TopicName

INTERNAL_TOPICS = frozenset({
    "__consumer_offsets",
    "__transaction_state",
    "__share_group_state",
    "__cluster_metadata",
    LEDGER,
})  # fmt: skip
"""Topics that are never mirrored, whatever `include` says."""

_PLACEHOLDER = "{topic}"
_LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")


@cache
def _pattern(text: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what Python will read differently one day is refused now
        return re.compile(text)


def _expression(text: str) -> str:
    try:
        _pattern(text)
    except (re.error, FutureWarning, DeprecationWarning, OverflowError, RecursionError) as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


def _template(text: str) -> str:
    if _PLACEHOLDER not in text:
        raise ValueError("must contain {topic}, else all topics would get one name")
    around = text.replace(_PLACEHOLDER, "")
    if around and not _LEGAL.fullmatch(around):
        raise ValueError(
            f"{text!r}: beside {{topic}} a topic name has letters, digits, '.', '_' and '-' only"
        )
    return text


Expression = Annotated[str, AfterValidator(_expression)]


class TopicsConfig(Section):
    """Which topics are mirrored, and under which names."""

    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        description="Regular expressions of Python; a topic whose whole name fits one is mirrored.",
    )
    exclude: tuple[Expression, ...] = Field(
        (), description="Regular expressions; a topic whose whole name fits one is left out."
    )
    rename: Annotated[str, AfterValidator(_template)] = Field(
        _PLACEHOLDER, description="Name on the target; `{topic}` stands for the name on the source."
    )

    def matches(self, topic: str, *, internal: bool = False) -> bool:
        """Return whether a source topic is mirrored.

        Args:
            topic: Its name.
            internal: Whether the broker calls it internal.
        """
        if internal or topic in INTERNAL_TOPICS:
            return False
        return _fits(topic, self.include) and not _fits(topic, self.exclude)

    def target_name(self, topic: str) -> TopicName:
        """Return the name that a source topic gets on the target.

        Raises:
            ConfigError: Kafka does not allow that name, or it belongs to an internal topic.
        """
        name = self.rename.replace(_PLACEHOLDER, topic)
        why = ""
        if not _LEGAL.fullmatch(name):
            why = "is longer than 249 characters" if len(name) > 249 else "has illegal characters"
        elif name in {".", ".."}:
            why = "is not allowed by Kafka"
        elif name in INTERNAL_TOPICS:
            why = "belongs to an internal topic"
        if why:
            text = f"topic {topic} would be named {name} on the target, a name that {why}"
            raise ConfigError((Problem("topics.rename", text),))
        return TopicName(name)


def _fits(topic: str, expressions: tuple[str, ...]) -> bool:
    return any(_pattern(text).fullmatch(topic) for text in expressions)
