"""Who runs this process."""

from __future__ import annotations

import getpass
import os


def this_user() -> str:
    """Return the user of this process; a container may have none by name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
