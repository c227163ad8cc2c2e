"""Secret values, and their masking in foreign texts."""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import quote

_SHORT = 6
"""Length below which a secret is masked only as a whole word."""
_MOST = 5_000
"""Upper bound on remembered secrets, as each login may fetch a new token."""
_known: dict[str, None] = {}


class Secret:
    """A password, token or key, whose text only `reveal` returns.

    It pickles with its value, because tasks must log in, but neither `repr`, `str`, a format,
    a pydantic dump nor a traceback shows it. Each process that holds one masks it (`masked`).
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        remember(value)

    def reveal(self) -> str:
        """Return the text; call this only to hand it to a login."""
        remember(self._value)  # what is in use must not be the first to be forgotten
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

    def __reduce__(self) -> tuple[Any, ...]:
        return (Secret, (self._value,))


def remember(value: str) -> None:
    """Mask `value` from now on, also in the forms in which programs quote it."""
    forms = (
        value,
        " ".join(value.split()),
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
        quote(value, safe=""),
        base64.b64encode(value.encode(errors="replace")).decode(),
    )
    for form in forms:
        _known.pop(form, None)  # the newest ones are kept, so they stand behind the others
        if form:
            _known[form] = None
    while len(_known) > _MOST:
        _known.pop(next(iter(_known)), None)


def masked(text: str) -> str:
    """Return a foreign text with all known secrets replaced by `***`."""
    for form in sorted(_known, key=len, reverse=True):
        if form not in text:
            continue
        if len(form) >= _SHORT:
            text = text.replace(form, "***")
        else:
            text = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", "***", text)
    return text
