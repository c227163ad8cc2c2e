"""Quoting of names from users and clusters, for messages."""

from __future__ import annotations

import json
import unicodedata

_DOUBTFUL = frozenset(" \"'")


_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that steer a terminal, or that nobody sees."""


def harmless(text: str) -> str:
    """Escape the control characters of a text for a terminal, except line ends.

    Clients choose the names of their groups, and topics hold what anybody has written.
    """
    if text.isprintable():
        return text
    return "".join(each if _is_seen(each) else ascii(each)[1:-1] for each in text)


def _is_seen(character: str) -> bool:
    return character == "\n" or unicodedata.category(character) not in _UNSEEN


def quoted(name: str) -> str:
    """Quote a name where it would be ambiguous in a sentence.

    Users, clients and groups may have any names. A blank in one must not make it look like two
    words, nor a line break end a line of a plan, and no two names are written alike.
    """
    if name and name.isprintable() and not _DOUBTFUL & set(name):
        return name
    return json.dumps(name, ensure_ascii=not name.isprintable())
