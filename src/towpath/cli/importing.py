"""`towpath import`: our files, links and archives from those of other tools."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

import typer

_COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "kafka-replicator": ("towpath.archive.commands.import_replicator", "kafka_replicator"),
        "mm2": ("towpath.mirror.commands.from_mm2", "mm2"),
        "mm2-positions": ("towpath.mirror.commands.from_mm2", "mm2_positions"),
    }
)
"""The module and the function of each command; products keep their own."""

importing = typer.Typer(help="Make files of ours from those of other tools.", no_args_is_help=True)


@importing.callback()
def _group() -> None:
    """Make files of ours from those of other tools."""


for _name, (_module, _function) in _COMMANDS.items():
    importing.command(_name)(getattr(import_module(_module), _function))
