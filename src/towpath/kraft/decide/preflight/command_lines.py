"""Checks of the command lines of brokers, which may override their files. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath

from towpath.kraft.decide.moves import Facts
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import NodeSeen
from towpath.kraft.files.configs import differs_between_modes
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Finding

_OVERRIDE = "--override"


def command_lines(facts: Facts) -> Iterator[Finding]:
    """Yield findings about unexpected properties files, and keys that override them."""
    named = {NodeId(each.id): PurePosixPath(each.properties) for each in facts.config.brokers}
    other = [
        f"{each.id} ({each.arguments[0]})"
        for each in facts.brokers
        if each.arguments and not _is(PurePosixPath(each.arguments[0]), named[each.id])
    ]
    if other:
        yield Finding.of(FindingCode.FILE_UNUSED, files=other)
    variables = [f"{name} of broker {each.id}" for each in facts.brokers for name in each.variables]
    if variables:
        yield Finding.of(FindingCode.FILE_FROM_VARIABLES, variables=variables)
    keys = [f"{key} of broker {node.id}" for node in facts.brokers for key in _overridden(node)]
    if keys:
        yield Finding.of(FindingCode.FILE_OVERRIDDEN, keys=keys)


def _is(word: PurePosixPath, file: PurePosixPath) -> bool:
    """Whether a path, which may begin in a folder that nobody tells, can be that of a file."""
    if word.is_absolute():
        return word == file
    parts = [each for each in word.parts if each != "."]
    return ".." in parts or list(file.parts[-len(parts) :]) == parts


def _overridden(node: NodeSeen) -> Iterator[str]:
    words = node.arguments or ()
    joined = f"{_OVERRIDE}="
    apart = (after for word, after in pairwise(words) if word == _OVERRIDE)
    for each in (*apart, *(word.removeprefix(joined) for word in words if joined in word)):
        key = each.partition("=")[0].strip()
        if differs_between_modes(key):
            yield key
