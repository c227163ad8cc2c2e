"""What the journal tells of registrations that were interrupted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from towpath.ledger.entries import Journal, Phase
from towpath.model.nouns import NO_TOPIC_ID, LinkName
from towpath.model.schemas import SchemaId, SchemaVersion, SubjectName
from towpath.plan.kinds import as_data
from towpath.schemas.past import Past
from towpath.schemas.steps import (
    KINDS,
    RegisterSchemas,
    RestoreSubject,
    SchemaStep,
    SetSubjectConfig,
    WantedVersion,
)

WANTED = WantedVersion(1, SchemaId(7), "x", deleted=True)
REGISTER = RegisterSchemas("eu.a", "a", (WANTED,), 0, (), 0, None, "FULL", keep=False)
SET = SetSubjectConfig("eu.a", None, "FULL", None, "", was="READONLY")
RESTORE = RestoreSubject("eu.a", None, "FULL", keep=False)


def entry(step: SchemaStep, phase: Phase, at: int) -> Journal:
    subject, name, do, part = KINDS.key(step)
    return Journal(
        link=LinkName("l"), subject=subject, name=name, do=do, part=part, step=as_data(step),
        phase=phase, plan="", owned=False, topic_id=NO_TOPIC_ID, at=at, error="",
    )  # fmt: skip


def past(entries: Iterable[Journal]) -> Past:
    found = Past()
    found.read({each.about(): each for each in entries})
    return found


def test_an_entry_is_read_once_and_again_when_it_is_replaced() -> None:
    journal = {each.about(): each for each in [entry(REGISTER, Phase.BEGUN, 1)]}
    found = past(journal.values())
    found.begun.clear()
    found.read(journal)
    assert found.begun == {}, "what was read before is not read again"
    journal |= {each.about(): each for each in [entry(REGISTER, Phase.FAILED, 2)]}
    found.read(journal)
    assert found.begun == {"eu.a": REGISTER}
    journal |= {each.about(): each for each in [entry(RESTORE, Phase.DONE, 3)]}
    found.read(journal)
    assert found.begun == {}


def test_what_was_begun_is_known_until_it_is_restored() -> None:
    for phase in Phase:
        found = past([entry(REGISTER, phase, 1)])
        assert (found.begun == {"eu.a": REGISTER}) == (phase is not Phase.DONE)
        assert found.marks == {SchemaVersion(SubjectName("eu.a"), 1)}
        brought = {SchemaVersion(SubjectName("a"), 1): WANTED}
        assert found.brought == (brought if phase is Phase.DONE else {})
        # A restoration that was interrupted as well restores nothing.
        found = past([entry(REGISTER, Phase.FAILED, 1), entry(RESTORE, phase, 2)])
        assert (found.begun == {}) == (phase is Phase.DONE)


def test_what_was_done_last_counts_wherever_the_journal_has_it() -> None:
    """An entry that is replaced keeps its place before a restoration that is older by now."""
    found = past([entry(REGISTER, Phase.FAILED, 3), entry(RESTORE, Phase.DONE, 2)])
    assert found.begun == {"eu.a": REGISTER}


def test_configs_that_were_not_set_are_known_until_they_are_or_the_subject_is_restored() -> None:
    for phase in Phase:
        found = past([entry(SET, phase, 1)])
        assert found.opened == ({} if phase is Phase.DONE else {"eu.a": SET})
        assert found.touched == frozenset(found.opened)
        found = past([entry(SET, Phase.FAILED, 1), entry(RESTORE, phase, 2)])
        assert (found.opened == {}) == (phase is Phase.DONE)
    everything = replace(SET, name=":.:")
    assert past([entry(everything, Phase.FAILED, 1)]).touched == frozenset()
