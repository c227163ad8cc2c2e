"""Random numbers of Towpath's own, which leave those of the program around it as they are.

Whoever seeds Python's own generator, such as a PySpark job that must give the same rows again,
would get other numbers where threads of a library draw from it, too. Nothing here is secret.
"""

from __future__ import annotations

import os
import random

CHANCE = random.Random()  # noqa: S311, no secret
os.register_at_fork(after_in_child=CHANCE.seed)
