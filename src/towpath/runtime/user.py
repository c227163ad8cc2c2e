"""The user who runs this process."""

from __future__ import annotations

import getpass
import os


def this_user() -> str:
    """Return the user's name; a container may only have a number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
