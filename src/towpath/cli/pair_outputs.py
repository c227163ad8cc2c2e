"""The outputs of a command for several pairs, as one document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from typing_extensions import TypedDict

from towpath.cli.options import REPORT
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.json_shapes import open_object, shape


@shape
class PairResultJson(TypedDict):
    """What a command did for one pair."""

    pair: str
    """The label of the pair."""
    exit_code: int | None
    """`null` if it did not begin, as a signal came before."""
    output: Annotated[
        dict[str, Any] | None,
        open_object("The document of the command for this pair alone, or an error."),
    ]
    """`null` if it wrote none."""


@shape
class PairsJson(TypedDict):
    """Output of a command for a file of Redpanda Connect with several pairs."""

    pairs: list[PairResultJson]


def as_json(printed: Mapping[str, str], codes: Mapping[str, int]) -> PairsJson:
    """Return one document of what a command printed as JSON for each pair."""
    return {
        "pairs": [
            {"pair": label, "exit_code": codes.get(label), "output": _document(text)}
            for label, text in printed.items()
        ]
    }


def _document(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def report_of(arguments: Sequence[str]) -> Path | None:
    """Return the file of the report that arguments ask for.

    Raises:
        ConfigError: It is a page, of which there is one for each link.
    """
    found = [value for _, value in _reports(arguments)]
    if not found:
        return None
    if found[-1].endswith(".html"):
        text = f"{found[-1]} is a page of one link; name a file that ends with .json, or a pair"
        raise ConfigError((ConfigProblem(REPORT, text),))
    return Path(found[-1])


def with_report(arguments: Sequence[str], report: Path) -> list[str]:
    """Return arguments with another file for the report."""
    made, words = list[str](), iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        if name == REPORT:
            if not equals:
                next(words, None)
        else:
            made.append(word)
    return [*made, f"{REPORT}={report}"]


def _reports(arguments: Sequence[str]) -> Iterator[tuple[int, str]]:
    for number, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == REPORT and equals:
            yield number, value
        elif word == REPORT and number + 1 < len(arguments):
            yield number, arguments[number + 1]
