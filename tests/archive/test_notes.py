"""What a run of an archive says when it starts."""

from __future__ import annotations

from typing import Any

from towpath.archive.run import not_compacted
from towpath.config import ArchiveConfig

FILE: dict[str, Any] = {
    "kind": "archive",
    "archive": "a",
    "region": "eu",
    "source": {"bootstrap": "a:9092"},
    "store": {"url": "file:///tmp/a"},
    "topics": {"include": ["orders"]},
}


def test_rules_that_nothing_applies_are_named() -> None:
    assert not_compacted(ArchiveConfig.model_validate(FILE)) == ""
    ruled = ArchiveConfig.model_validate(FILE | {"compaction": [{}, {}]})
    assert not_compacted(ruled).startswith("`compaction` has 2 rules, and this version compacts")
