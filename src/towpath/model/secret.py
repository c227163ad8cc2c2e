"""A value that must never be shown."""

from __future__ import annotations


class Secret:
    """A password, token or key; its text comes out of `reveal` alone.

    It pickles with its value, because tasks must log in, but neither `repr`, `str`, a format,
    a pydantic dump nor a traceback shows it.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the text. Call it only where it is handed to a login."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __format__(self, format_spec: str) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        return (Secret, (self._value,))
