"""A finding about a migration to KRaft: a code with values. Pure.

What is done about a finding depends on its code, never on its sentences, which are made where it
is shown (`kraft/findings/texts.py` has them all).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from towpath.kraft.findings.codes import FindingCode, Severity
from towpath.kraft.findings.texts import TEXTS

Value = int | str | tuple[str, ...]
"""A value of a finding; several ones of a kind are a tuple."""

_SHOWN = 5
"""How many values of a kind a sentence names."""


def several(values: tuple[str, ...]) -> str:
    """Return the first values, and the number of further ones."""
    more = len(values) - _SHOWN
    return ", ".join(values[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A finding about a migration; `str()` returns its sentence and its advice.

    Attributes:
        code: The kind of finding.
        values: What its sentences need, sorted by name. `Finding.of` makes them.
    """

    code: FindingCode
    values: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def of(cls, code: FindingCode, **values: int | str | Iterable[object]) -> Finding:
        """Return a finding; iterable values become tuples of texts."""
        return cls(code, tuple(sorted((name, _value(each)) for name, each in values.items())))

    @property
    def severity(self) -> Severity:
        """The severity of the finding, which says whether it stops a migration."""
        return TEXTS[self.code].severity

    @property
    def what(self) -> str:
        """The sentence that says what was found."""
        return TEXTS[self.code].what.format_map(self._shown())

    @property
    def advice(self) -> str:
        """The sentence that says what to do."""
        return TEXTS[self.code].advice.format_map(self._shown())

    def _shown(self) -> dict[str, str]:
        return {
            name: several(value) if isinstance(value, tuple) else str(value)
            for name, value in self.values
        }

    def __str__(self) -> str:
        return f"{self.what}; {self.advice}"


def _value(value: int | str | Iterable[object]) -> Value:
    return value if isinstance(value, int | str) else tuple(str(each) for each in value)


def stops(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings that stop a migration."""
    return tuple(each for each in findings if each.severity is Severity.STOP)


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal: no step is safe, for these reasons."""

    reasons: tuple[Finding, ...]

    @classmethod
    def by(cls, *reasons: Finding) -> Refused:
        """Return a refusal with these reasons."""
        return cls(reasons)
