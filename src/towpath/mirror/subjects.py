"""The list of all subjects of a link: to join another one, name it here."""

from __future__ import annotations

from towpath.access.subject import ACCESS
from towpath.plan.subjects import Subjects
from towpath.topics.subject import TOPICS

SUBJECTS = Subjects((TOPICS, ACCESS))
"""In the order in which they are looked at: access depends on which topics are mirrored."""
