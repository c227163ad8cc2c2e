"""The question that commands ask before they change what cannot be taken back."""

from __future__ import annotations

import sys

import typer

from towpath.model.errors import ConfigError, ConfigProblem


def confirmed(question: str, then: str = "to do what is above") -> bool:
    """Ask the question on the terminal, and return whether the answer is yes.

    Args:
        question: The question, such as `Do these steps?`.
        then: What `--yes` stands for, as the end of the error's sentence; "" for nothing more.

    Raises:
        ConfigError: Nobody can be asked, as stdin is no terminal.
    """
    if not sys.stdin.isatty():
        text = f"not a terminal, so no confirmation is possible; add --yes {then}".rstrip()
        raise ConfigError((ConfigProblem("--yes", text),))
    return typer.confirm(question, err=True)
