"""The root of the error tree, and errors of any command."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.model.reasons import Reason, ReasonCode


class TowpathError(Exception):
    """Base class; `str()` of an instance is a sentence for the person who must act."""

    code: str = "TOWPATH"
    exit_code: int = 1

    @property
    def reason(self) -> Reason:
        """The code and values of this error, as a `Reason`."""
        return Reason.of(ReasonCode.ERROR, error=self.code, text=str(self))


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place in a text file; lines and columns (characters) count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class ConfigProblem:
    """A problem in the YAML file or the arguments.

    Attributes:
        path: The YAML path or the option, "" for the file as a whole.
        text: What is wrong, and what to do.
        spot: Where in the file, `None` for a problem that is not in a file.
    """

    path: str
    text: str
    spot: Spot | None = None

    @property
    def sentence(self) -> str:
        """The path and the text, without the place in the file."""
        return f"{self.path}: {self.text}" if self.path else self.text

    def __str__(self) -> str:
        """`file:line:column: path: text`, which editors and terminals make a link of."""
        return f"{self.spot}: {self.sentence}" if self.spot else self.sentence


class ConfigError(TowpathError):
    """The file or the arguments are wrong; the error holds all problems at once."""

    code = "CONFIG"
    exit_code = 2

    def __init__(self, problems: tuple[ConfigProblem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class StoppedError(TowpathError):
    """The user asked to stop before the work was complete."""

    code = "STOPPED"
    exit_code = 3

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return f"stopped: {self.what}"
