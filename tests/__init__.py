"""The tests, and what they share."""

import os
import sys
from pathlib import Path

if sys.dont_write_bytecode:
    # Each process of a session would compile all that it imports: 7 s of CPU for all tests, 1 s for
    # the program. Compiled modules stay out of the sources.
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(Path(sys.prefix, "pycache"))
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": sys.pycache_prefix}
