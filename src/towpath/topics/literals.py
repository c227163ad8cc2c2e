"""Detection of expressions that look like one topic's name and match others. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from towpath.model.findings import Note
from towpath.model.nouns import TopicName
from towpath.settings.naming import pattern
from towpath.settings.sections.topics import TopicSelection

_NAME = re.compile(r"[A-Za-z0-9._-]*\.[A-Za-z0-9._-]*")
"""A name that Kafka allows, and a dot in it, which means any character in an expression."""
_SOME = 5


def beyond_names(
    topics: TopicSelection, taken: Iterable[TopicName], others: Iterable[TopicName]
) -> Iterator[Note]:
    """Yield notes on expressions that look like one topic's name and match others.

    Args:
        topics: The expressions.
        taken: The names of the topics that are mirrored.
        others: The names of the other topics of the source.
    """
    for key, expressions, names in (
        ("topics.include", topics.include, sorted(taken)),
        ("topics.exclude", topics.exclude, sorted(others)),
    ):
        for each in expressions:
            if not _NAME.fullmatch(each):
                continue
            fitting = [name for name in names if name != each and pattern(each).fullmatch(name)]
            if fitting:
                yield Note(key, _text(each, fitting))


def _text(expression: str, fitting: list[TopicName]) -> str:
    more = f" and {len(fitting) - _SOME} more" if len(fitting) > _SOME else ""
    exact = expression.replace(".", r"\.")
    return (
        f"'{expression}' is a regular expression, in which a dot stands for any character: it also"
        f" fits {', '.join(fitting[:_SOME])}{more}; write '{exact}' for the one topic"
    )
