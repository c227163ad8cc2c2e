"""`-e`, `--set`, `--chilled` and `--pair`, of which Redpanda Connect takes the first three.

They hold for each command that takes a file, so they are taken out of the arguments before a
command sees them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings.connect_files import PAIR, ConnectWishes, wish

_ENV, _SET, _CHILLED = "--env-file", "--set", "--chilled"
_VALUED = frozenset({_ENV, _SET, PAIR})
_SHORT = {"-e": _ENV}
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][0-9A-Za-z_.]*)\s*=\s*(.*?)\s*")
_QUOTED = re.compile(r"""(["'])(.*)\1(?:\s+#.*)?""")
_COMMENT = re.compile(r"\s+#.*")


@dataclass(slots=True)
class ConnectArguments:
    """The arguments of a command line, and what was taken out of them.

    Attributes:
        rest: The other arguments.
        files: Files with variables.
        sets: `PATH=VALUE`.
        chilled: Whether `--chilled` is among them.
        pairs: Labels of pairs, of which the last one counts.
    """

    rest: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    chilled: bool = False
    pairs: list[str] = field(default_factory=list)

    def take(self, name: str, value: str) -> None:
        """Keep the value of an option."""
        {_ENV: self.files, _SET: self.sets, PAIR: self.pairs}[name].append(value)


def split(arguments: Sequence[str]) -> ConnectArguments:
    """Take the options out of arguments. One without a value stays, and is told by the command."""
    found = ConnectArguments()
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        name = _SHORT.get(name, name)
        if word == "--":
            found.rest += [word, *words]
        elif word == _CHILLED:
            found.chilled = True
        elif name in _VALUED:
            text = value if equals else next(words, None)
            if text is None:
                found.rest.append(word)
            else:
                found.take(name, text)
        else:
            found.rest.append(word)
    return found


def applied(arguments: Sequence[str]) -> list[str]:
    """Set the variables of files, keep what the other options ask; return the rest.

    Raises:
        ConfigError: A file cannot be read, or a value is wrong.
    """
    found = split(arguments)
    pair = found.pairs[-1] if found.pairs else None
    wish(ConnectWishes(tuple(map(_assignment, found.sets)), found.chilled, pair))
    for name in found.files:
        os.environ.update(variables_of(Path(name)))
    return found.rest


def variables_of(path: Path) -> Mapping[str, str]:
    """Return the variables of a file with a line `NAME=value` for each.

    Raises:
        ConfigError: It cannot be read, or a line is something else.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "is not a text file"
        raise _wrong(_ENV, f"{path}: {why}") from None
    return dict(_variables(path, text))


def _variables(path: Path, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            why = f"{path}, line {number}: must be NAME=value, or a comment that begins with #"
            raise _wrong(_ENV, why)
        yield found[1], _value(found[2])


def _value(text: str) -> str:
    quoted = _QUOTED.fullmatch(text)
    if quoted is None:
        return _COMMENT.sub("", text)
    return quoted[2].replace("\\n", "\n") if quoted[1] == '"' else quoted[2]


def _assignment(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not (path and equals):
        raise _wrong(_SET, "must be PATH=VALUE, such as input.redpanda_migrator.rack_id=a")
    return path, value


def _wrong(option: str, text: str) -> ConfigError:
    return ConfigError((ConfigProblem(option, text),))
