"""What `towpath verify` compares, and where."""

from __future__ import annotations

import re
from dataclasses import dataclass

from towpath.model.nouns import TopicName
from towpath.wire.naming import IdSample

EVERY_TOPIC = ".*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The scope of a comparison, and its number of parallel tasks.

    Attributes:
        since_offset: Compare from this source offset on.
        since_ms: Compare from the first record of this time on.
        sample: Seed of a random sample; `None` to compare everything.
        master: Spark's master.
        parallelism: Number of slices at a time, on this machine.
        uncommitted: Whether the target must hold no record that only consumers with
            isolation.level=read_uncommitted see.
        packages: Where Spark finds an archive of `towpath pack` for its workers.
        ids: Which records on the target are looked at for schema ids, `None` for none.
        may_delete: Whether all mirror topics are meant to keep less than the source.
        topics: Compare only source topics whose whole name matches this regular expression.
    """

    since_offset: int = 0
    since_ms: int | None = None
    sample: int | None = None
    master: str | None = None
    parallelism: int | None = None
    uncommitted: bool = False
    packages: str | None = None
    ids: IdSample | None = None
    may_delete: bool = False
    topics: str = EVERY_TOPIC

    def takes(self, topic: TopicName) -> bool:
        """Return whether a source topic is compared."""
        return re.fullmatch(self.topics, topic) is not None

    @property
    def whole(self) -> bool:
        """Whether all records are compared, not a sample or a part."""
        return self.sample is None and not self.narrowed

    @property
    def narrowed(self) -> bool:
        """Whether the comparison begins at some offset or time."""
        return self.since_offset > 0 or self.since_ms is not None
