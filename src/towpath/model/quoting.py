"""Names from users and clusters, quoted for messages."""

from __future__ import annotations

import json

_DOUBTFUL = frozenset(" \"'")


def quoted(name: str) -> str:
    """Return a name for use in a sentence, quoted where it would be ambiguous.

    Users, clients and groups may have any names. A blank in one must not make it look like two
    words, nor a line break end a line of a plan, and no two names are written alike.
    """
    if name and name.isprintable() and not _DOUBTFUL & set(name):
        return name
    return json.dumps(name, ensure_ascii=not name.isprintable())
