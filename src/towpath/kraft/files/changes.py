"""Differences between two properties files: changed keys, and lines for people. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from towpath.kraft.files.configs import Properties


def changes(before: Properties, after: Properties) -> Mapping[str, str | None]:
    """Return new values by key, `None` for removed keys; see `properties.change_properties`."""
    new = {key: value for key, value in after.items() if before.get(key) != value}
    return {**dict.fromkeys(before.keys() - after.keys()), **new}


_SECRET = re.compile(
    r"password|passwd|secret|jaas|credential|token|private|api.?key|keystore\.key|master\.key", re.I
)


@dataclass(frozen=True, slots=True)
class PropertiesChange:
    """The change of one key: old and new value, `None` if absent; secrets are masked."""

    key: str
    before: str | None
    after: str | None

    def lines(self) -> tuple[str, ...]:
        """Return the change of the key as lines of a diff."""
        pairs = (("-", self.before), ("+", self.after))
        return tuple(f"{sign}{self.key}={each}" for sign, each in pairs if each is not None)


def shown_changes(before: Properties, after: Properties) -> tuple[PropertiesChange, ...]:
    """Return the difference of two files for people, with secrets masked by their keys."""
    return tuple(
        PropertiesChange(key, _shown(key, before.get(key)), _shown(key, after.get(key)))
        for key in sorted(changes(before, after))
    )


def _shown(key: str, value: str | None) -> str | None:
    return "***" if value is not None and _SECRET.search(key) else value
