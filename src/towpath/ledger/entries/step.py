"""The ledger entry about one step of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from towpath.model.nouns import LinkName, TopicId


class Phase(StrEnum):
    """The progress of a step of a plan."""

    BEGUN = "begun"
    """The step may have been applied: its start was journalled, its end was not."""
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The journal entry of one step of a plan that was begun or done.

    `subject`, `name`, `do` and `part` tell what was changed on the target: say `topics`, `orders`,
    `SetConfigs` and the names of the configs. `step` is the whole step as `towpath plan` shows it
    in JSON. `plan` is the digest of a saved plan, empty where a run did the step by itself. What is
    `owned` was created by the link. `topic_id` is that of the topic which was created or changed.
    `error` tells why it failed.
    """

    kind: ClassVar[str] = "step"

    link: LinkName
    subject: str
    name: str
    do: str
    part: str
    step: Mapping[str, Any]
    phase: Phase
    plan: str
    owned: bool
    topic_id: TopicId
    error: str
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.subject, self.name, self.do, self.part)
