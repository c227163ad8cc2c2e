"""Subjects of contexts: where they go, which ids meet, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.registries.schema_worlds import compared, one
from towpath.model.schemas import SchemaVersion, SubjectConfig, SubjectName
from towpath.schemas.steps import RegisterSchemas, SetSubjectConfig

A, EU_A, US_A = SubjectName("a"), SubjectName(":.eu:a"), SubjectName(":.us:a")


def test_each_context_has_its_own_ids() -> None:
    source = {A: {1: one(1, "x")}, EU_A: {1: one(1, "y")}}
    found = compared(source, {}, contexts={".": ".", "eu": "west"})
    assert found.problems == []
    assert [step.about for step in found.steps] == [":.west:a", "a"]
    both = {A: {1: one(1, "x")}, SubjectName(":.west:a"): {1: one(1, "y")}}
    assert compared(source, both, contexts={".": ".", "eu": "west"}).steps == []


def test_contexts_that_become_one_may_meet_in_names_and_ids() -> None:
    source = {
        EU_A: {1: one(1, "x")},
        US_A: {1: one(2, "y")},
        SubjectName(":.eu:b"): {1: one(3, "z")},
        SubjectName(":.us:c"): {1: one(3, "w")},
        SubjectName(":.us:d"): {1: one(3, "z")},
    }
    found = compared(source, {}, contexts={"eu|us": "all"})
    assert [step.about for step in found.steps] == [":.all:b", ":.all:d"]
    told = {problem.about: problem.text for problem in found.problems}
    assert told.keys() == {":.eu:a", ":.us:a", ":.us:c"}
    assert "would all be :.all:a on the target; change `rename`, or `contexts`" in told[":.eu:a"]
    assert "id 3, which is that of :.eu:b version 1" in told[":.us:c"]


def test_references_follow_into_the_other_context() -> None:
    source = {EU_A: {1: one(1)}, SubjectName(":.eu:b"): {1: one(2, "", (":.eu:a", 1))}}
    copied = one(2, "", (":.west:a", 1))
    copied = copied._replace(references=(copied.references[0]._replace(name=":.eu:a"),))
    target = {SubjectName(":.west:a"): {1: one(1)}, SubjectName(":.west:b"): {1: copied}}
    found = compared(source, target, contexts={"eu": "west"})
    assert (found.steps, found.problems) == ([], [])


def test_a_context_without_a_rule_is_refused_alone() -> None:
    source = {EU_A: {1: one(1)}, SubjectName(":.eu:b"): {1: one(2, "", (":.lab:a", 1))}}
    found = compared(source, {}, seen={"unmapped": frozenset({".lab"})}, contexts={"eu": "eu"})
    assert [step.about for step in found.steps] == [":.eu:a"]
    told = {problem.about: problem.text for problem in found.problems}
    assert "does not say what becomes of this context" in told[".lab"]
    assert "refers to :.lab:a version 1, whose context .lab is not brought over" in told[":.eu:b"]


def test_a_target_without_contexts_gets_the_default_one_alone() -> None:
    source = {A: {1: one(1)}, EU_A: {1: one(1, "x")}}
    found = compared(source, {}, seen={"has_contexts": False})
    assert [step.about for step in found.steps] == ["a"]
    (problem,) = found.problems
    assert problem.about == ".eu"
    assert 'map their context to "."' in problem.text


def test_what_is_set_for_all_subjects_goes_over_where_the_file_says_so() -> None:
    both = {A: {1: one(1)}, EU_A: {1: one(1, "x")}}
    everything = SubjectName(":.:")
    configs: dict[str, Any] = {
        "alls": {everything: everything, SubjectName(":.eu:"): SubjectName(":.eu:")},
        "source_configs": {
            everything: SubjectConfig("READONLY", "FULL"),
            SubjectName(":.eu:"): SubjectConfig(None, "NONE"),
        },
        "target_configs": {everything: SubjectConfig("READWRITE", "BACKWARD", normalize=True)},
    }
    # Its mode never does.
    assert compared(both, both, seen=configs).steps == [
        SetSubjectConfig(":.:", None, "FULL", None, "READWRITE, BACKWARD, normalize true"),
        SetSubjectConfig(":.eu:", None, "NONE", None, ""),
    ]
    merged = {**configs, "alls": dict.fromkeys(configs["alls"], everything)}
    found = compared(both, both, seen=merged)
    assert found.steps == []
    assert {problem.about for problem in found.problems} == {":.:", ":.eu:"}


def test_one_id_may_be_several_on_the_target() -> None:
    b = SubjectName("b")
    source = {A: {1: one(5, "x")}, b: {1: one(5, "x")}}
    found = compared(source, {A: {1: one(7, "x")}, b: {1: one(9, "x")}}, ids="translate")
    (note,) = found.notes
    assert str(note) == (
        "a: id 5 of the source is 7 in a, 9 in b on the target; each subject has its own"
    )
    assert (found.steps, found.problems) == ([], [])


def test_a_subject_that_was_made_again_is_named() -> None:
    step = compared({A: {1: one(1, "x")}}, {}, ids="translate").steps[0]
    assert isinstance(step, RegisterSchemas)
    brought = {SchemaVersion(A, 1): step.versions[0]}
    again = {A: {1: one(4, "y")}}
    found = compared(again, {A: {1: one(70, "x")}}, brought=brought, ids="translate")
    assert "version 1 had id 1 and has id 4" in str(found.notes[0])
    # What is new is registered behind what was there.
    assert [replace(each, had=0) for each in found.steps if isinstance(each, RegisterSchemas)]
