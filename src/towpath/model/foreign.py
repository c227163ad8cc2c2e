"""Texts of other programs and libraries, cleaned of secrets before they are shown.

Such texts may repeat their input: arguments of commands, values of requests, lines of files.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from towpath.model.errors import TowpathError
from towpath.model.secret import masked

_JAVA_OPTIONS = re.compile(r"^(NOTE: )?Picked up \w+:.*\n?", re.MULTILINE)
"""A JVM repeats JAVA_TOOL_OPTIONS and its kin, passwords of key stores among them."""
_TELL_TOO_MUCH = frozenset({"botocore"})
"""Libraries whose errors repeat what a program of the user printed."""


def foreign(error: BaseException) -> str:
    """Return the text of a foreign error as one line without secrets or arguments."""
    if isinstance(error, TowpathError):
        return str(error)
    if isinstance(error, subprocess.TimeoutExpired):
        return f"{_program(error.cmd)} did not end within {error.timeout:g} s"
    if isinstance(error, subprocess.CalledProcessError):
        return f"{_program(error.cmd)} ended with code {error.returncode}"
    if type(error).__module__.partition(".")[0] in _TELL_TOO_MUCH:
        return type(error).__name__
    return printed(" ".join(_told(error).split())) or type(error).__name__


def printed(text: str) -> str:
    """Return another program's output without secrets."""
    return masked(_JAVA_OPTIONS.sub("", text))


def watch_threads() -> None:
    """Print uncaught errors of threads without secrets."""

    def show(ended: threading.ExceptHookArgs) -> None:
        lines = traceback.format_exception(ended.exc_type, ended.exc_value, ended.exc_traceback)
        sys.stderr.write(printed("".join(lines)))

    threading.excepthook = show


@contextmanager
def leaving() -> Iterator[None]:
    """Remove secrets from errors that leave a Spark task, as Spark shows whole tracebacks.

    Raises:
        TowpathError: As it was raised, without what caused it, which is foreign text.
        RuntimeError: Any other error; the text is its traceback.
    """
    watch_threads()
    try:
        yield
    except TowpathError as error:
        error.__cause__ = error.__context__ = None
        raise
    except Exception as error:  # noqa: BLE001  # it goes on as text
        text = "".join(traceback.format_exception(error))
        raise RuntimeError(printed(text)) from None


def _told(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    if isinstance(error, UnicodeError):
        return f"it is not {getattr(error, 'encoding', 'UTF-8')}"
    return str(error)


def _program(command: object) -> str:
    """Return the name of the program of a command; its arguments are not shown."""
    words = command.split() if isinstance(command, str) else command
    return str(words[0]) if isinstance(words, list | tuple) and words else "the command"
