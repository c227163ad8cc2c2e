"""Files of Redpanda Connect, which commands take in place of a link's own.

The reader is named, not imported: it belongs to the mirror's wing (`mirror/connect/`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from towpath.model.errors import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from towpath.settings.link import LinkConfig

_READER = "towpath.mirror.connect.load"
PAIR = "--pair"
"""The option that names one of several pairs of a file."""


@dataclass(frozen=True, slots=True)
class ConnectWishes:
    """The command-line options for files of Redpanda Connect: `--set` and `--chilled`.

    Attributes:
        sets: Paths of values, each with its value in YAML.
        chilled: Whether unknown fields are left out, and told, instead of refused.
        pair: The label of the pair that is meant, `None` for all.
    """

    sets: tuple[tuple[str, str], ...] = ()
    chilled: bool = False
    pair: str | None = None


class _CommandLine:
    """That of this process, for all of its threads."""

    wishes = ConnectWishes()


def wish(wishes: ConnectWishes) -> None:
    """Keep what the command line of this process asks."""
    _CommandLine.wishes = wishes


def wished() -> ConnectWishes:
    """Return the command-line options of this process for files of Redpanda Connect."""
    return _CommandLine.wishes


def require_no_wishes() -> None:
    """Raise if `--set` or `--chilled` is given; only files of Redpanda Connect take them.

    Raises:
        ConfigError: There are some.
    """
    wishes = wished()
    asked = {"--set": wishes.sets, "--chilled": wishes.chilled, PAIR: wishes.pair}
    option = next((name for name, value in asked.items() if value), "")
    if option:
        text = "is for files of Redpanda Connect; change the file, or use ${NAME} and -e"
        raise ConfigError((ConfigProblem(option, text),))


_SIGN = re.compile(
    rb"(?:^\s+(?:-\s+)?|^[^#\n]*[{,]\s*)([\"']?)(?:redpanda|kafka)_migrator(?:_bundle|_offsets)?\1\s*:",
    re.MULTILINE,
)
_OURS = re.compile(rb"^(link|kind)\s*:", re.MULTILINE)


class ConnectFiles(Protocol):
    """Protocol of the reader of such files."""

    def link(self, path: Path) -> LinkConfig:
        """Return a file as the configuration of a link."""

    def check(self, path: Path, *, with_environment: bool = True) -> tuple[ConfigProblem, ...]:
        """Return every problem of a file."""

    def pairs(self, path: Path) -> tuple[str, ...]:
        """Return the labels of the pairs of input and output in a file."""

    def notes(self, path: Path) -> tuple[str, ...]:
        """Return notes for the operator about a file without problems."""


def is_connect(path: Path) -> bool:
    """Return whether a file is one of Redpanda Connect's migrator; false if it cannot be read."""
    try:
        text = path.read_bytes()
    except (OSError, ValueError):
        return False
    return _SIGN.search(text) is not None and _OURS.search(text) is None


def connect_files() -> ConnectFiles:
    """Return the reader, imported now."""
    return cast("ConnectFiles", import_module(_READER))
