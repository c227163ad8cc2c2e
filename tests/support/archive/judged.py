"""Drafts that may follow a state of an archive, or may not."""

from __future__ import annotations

import pytest

from towpath.archive.errors import CommitRefusedError
from towpath.archive.log.entries import Draft, LogEntry
from towpath.archive.log.rules import judge, problem_of
from towpath.archive.log.state import ArchiveState


def after(state: ArchiveState, draft: Draft) -> ArchiveState:
    """Return the state behind a draft, which is checked as a reader does."""
    judged = judge(state, draft)
    assert not judged.dropped
    entry = LogEntry(
        version=state.version + 1,
        time=state.time + 10,
        writer=draft.writer,
        before=state.tip,
        kind=draft.kind,
        add=judged.draft.add,
        remove=judged.draft.remove,
        partitions=judged.draft.partitions,
        captures=judged.draft.captures,
        swept=judged.draft.swept,
    )
    assert problem_of(state, entry) == ""
    return state.after([(entry, f"tip {entry.version}")])


def refusal(state: ArchiveState, draft: Draft) -> str:
    """Return why a draft may not follow a state."""
    with pytest.raises(CommitRefusedError) as caught:
        judge(state, draft)
    assert str(caught.value).startswith("the archive refused a commit that would contradict it: ")
    return caught.value.what
