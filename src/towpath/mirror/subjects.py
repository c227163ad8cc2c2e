"""The list of all subjects of a link. A new subject is added here."""

from __future__ import annotations

from towpath.access.subject import ACCESS
from towpath.group_configs.subject import GROUP_CONFIG_SUBJECT
from towpath.plan.subjects import Subjects
from towpath.schemas.subject import SUBJECT as SCHEMAS
from towpath.topics.subject import TOPICS

SUBJECTS = Subjects((TOPICS, ACCESS, GROUP_CONFIG_SUBJECT, SCHEMAS))
"""In the order of observation: access depends on which topics are mirrored."""
BESIDE_SCHEMAS = (TOPICS, ACCESS, GROUP_CONFIG_SUBJECT)
"""Those that a run keeps up in its main loop; `mirror/run/schema_loop.py` is for the others."""
