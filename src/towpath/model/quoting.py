"""Names of other people's making in our sentences."""

from __future__ import annotations

import json

_DOUBTFUL = frozenset(" \"'")


def quoted(name: str) -> str:
    """Return a name as it may stand in a sentence: in quotes where it could be read otherwise.

    Users, clients and groups may have any names. A blank in one must not make it look like two
    words, nor a line break end a line of a plan, and no two names are written alike.
    """
    if name and name.isprintable() and not _DOUBTFUL & set(name):
        return name
    return json.dumps(name, ensure_ascii=not name.isprintable())
