"""Login modules of Java, as `sasl.jaas.config` names them."""

from __future__ import annotations

import re

_OPTION = re.compile(r"([\w.]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|([^\s;]+))")


def login_options(jaas: str) -> dict[str, str]:
    """Return the options of the first login module of a JAAS configuration."""
    found: dict[str, str] = {}
    for match in _OPTION.finditer(jaas):
        quoted = match[2] if match[2] is not None else match[3]
        text = match[4] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        found.setdefault(match[1], text)
    return found
