"""What differs between two registries, and what is left alone."""

from __future__ import annotations

import pytest

from tests.support.registries.schema_worlds import compared, one, schemas_config
from towpath.model.errors import UnreachableError
from towpath.model.schemas import (
    Schema,
    SchemaId,
    SchemaReference,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
)
from towpath.schemas.diff import diff
from towpath.schemas.observed_schemas import ObservedSchemas, SeenVersion
from towpath.schemas.steps import RegisterSchemas, RestoreSubject, SetSubjectConfig, WantedVersion

A, B = SubjectName("a"), SubjectName("b")


def test_a_registry_that_is_equal_needs_nothing() -> None:
    both = {A: {1: one(1), 3: one(7)}, B: {1: one(2, "b", ("a", 3))}}
    found = compared(both, both)
    assert (found.steps, found.problems) == ([], [])
    assert found.places[SchemaVersion(B, 1)] == SchemaVersion(B, 1)


def test_what_is_missing_is_registered_in_waves() -> None:
    source = {A: {1: one(1), 2: one(3, "", ("b", 1))}, B: {1: one(2, "", ("a", 1))}}
    steps = compared(source, {}).steps
    assert [(s.name, s.wave, s.needs) for s in steps if isinstance(s, RegisterSchemas)] == [
        ("a", 0, ()),
        ("b", 1, ("a",)),
        ("a", 2, ("b",)),
    ]


def test_what_is_there_and_differs_is_named_and_left_alone() -> None:
    source = {A: {1: one(1), 2: one(2)}}
    for other, what in (
        (one(9, "1"), "id 9 on the target and 1 at the source"),
        (one(1, "x"), "another schema on the target, under the same id 1"),
    ):
        found = compared(source, {A: {1: other, 2: one(2)}})
        assert found.steps == []
        (problem,) = found.problems
        assert problem.about == "a"
        assert f"version 1 has {what} (a)" in problem.text


def referring(text: str, type_: str, *references: tuple[str, int]) -> SeenVersion:
    return one(7, Schema(text, type_).body, *references)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (referring('{"type":"long"}', "AVRO", ("a", 1)), "another schema"),
        (referring('{"type":"int"}', "JSON", ("a", 1)), "another schema"),
        (referring('{"type":"int"}', "AVRO"), "other references"),
        (referring('{"type":"int"}', "AVRO", ("a", 2)), "other references"),
        (referring('{"type":"int"}', "AVRO", ("b", 1)), "other references"),
    ],
)
def test_schemas_of_another_text_type_or_reference_differ(other: SeenVersion, what: str) -> None:
    held = {A: {1: one(1), 2: one(2)}, B: {1: one(3)}}
    name = SubjectName("c")
    ours = {**held, name: {1: referring('{"type":"int"}', "AVRO", ("a", 1))}}
    blanks = {**held, name: {1: referring('{ "type" : "int" }', "AVRO", ("a", 1))}}
    same = compared(ours, blanks)
    assert (same.problems, same.steps) == ([], [])
    found = compared(ours, {**held, name: {1: other}})
    assert found.steps == []
    (problem,) = found.problems
    assert problem.about == "c"
    assert f"version 1 has {what} on the target" in problem.text


def test_an_id_that_another_schema_has_is_refused_before_anything_is_written() -> None:
    found = compared({A: {1: one(5, "x")}, B: {1: one(6)}}, {SubjectName("z"): {1: one(5, "y")}})
    assert [step.about for step in found.steps] == ["b"]
    assert "the id 5, which is another schema's on the target" in found.problems[0].text


def test_one_schema_may_have_several_ids_and_several_subjects_one_id() -> None:
    source = {A: {1: one(1, "x")}, B: {1: one(1, "x")}, SubjectName("c"): {1: one(2, "x")}}
    steps = compared(source, {A: {1: one(1, "x")}}).steps
    assert {s.about: s.versions[0].id for s in steps if isinstance(s, RegisterSchemas)} == {
        "b": 1,
        "c": 2,
    }


def test_new_ids_are_found_again_by_what_the_schemas_say() -> None:
    source = {A: {1: one(1, "x"), 2: one(2, "y")}, B: {1: one(3, "z", ("a", 2))}}
    target = {A: {1: one(70, "y")}, B: {1: one(71, "z", ("a", 1))}}
    found = compared(source, target, ids="translate")
    assert found.places == {
        SchemaVersion(A, 2): SchemaVersion(A, 1),
        SchemaVersion(B, 1): SchemaVersion(B, 1),
    }
    (step,) = found.steps
    assert isinstance(step, RegisterSchemas)
    assert [each.version for each in step.versions] == [1]


def test_references_follow_new_names() -> None:
    source = {A: {1: one(1)}, B: {1: one(2, "b", ("a", 1))}}
    copied = one(2, "b")._replace(references=(SchemaReference("a", SubjectName("eu.a"), 1),))
    target = {SubjectName("eu.a"): {1: one(1)}, SubjectName("eu.b"): {1: copied}}
    found = compared(source, target, rename="eu.{subject}")
    assert (found.steps, found.problems) == ([], [])


@pytest.mark.parametrize("rename", ["copy-{subject}", "{subject}-copy", "{subject}"])
def test_what_a_link_in_the_other_direction_made_is_told(rename: str) -> None:
    """Its copies would be copied, and theirs, and so on."""
    made, other = (SubjectName(rename.format(subject=each)) for each in ("a", "b"))
    source = {made: {1: one(7, "x")}, other: {1: one(8, "another text")}}
    target = {A: {1: one(1, "x"), 2: one(2, "y")}, B: {1: one(3, "z")}}
    found = compared(source, target, rename=rename, ids="translate")
    told = [note.text for note in found.notes if "each other's copies" in note.text]
    assert len(told) == (rename != "{subject}")
    assert all(f"1 subject of the source, such as {made}," in text for text in told)


def test_only_what_the_source_has_set_is_set_on_the_target() -> None:
    seen = {
        "source_configs": {
            A: SubjectConfig(compatibility="FULL"),
            B: SubjectConfig("IMPORT", "FULL", normalize=True),
        },
        "target_configs": {A: SubjectConfig(compatibility="FULL", normalize=True)},
    }
    both = {A: {1: one(1)}, B: {1: one(2)}}
    assert compared(both, both, seen=seen).steps == [
        SetSubjectConfig("b", None, "FULL", normalize=True, had="")
    ]


def test_an_alias_stays_at_the_source_and_is_named() -> None:
    of_a = SubjectConfig(compatibility="FULL", more='{"alias": "orders"}')
    both = {A: {1: one(1)}}
    found = compared(both, both, seen={"source_configs": {A: of_a}})
    assert [step.compatibility for step in found.steps if isinstance(step, SetSubjectConfig)] == [
        "FULL"
    ]
    (note,) = found.notes
    assert str(note) == (
        "a: its alias orders stays at the source; set it on the target after the cutover"
    )


BEGUN = RegisterSchemas("a", "a", (WantedVersion(1, SchemaId(1), "1"),), 0, (), 0, None, None, True)


def test_a_mode_that_an_interrupted_step_has_set_is_restored() -> None:
    now = {"target_configs": {A: SubjectConfig("IMPORT")}}
    both = {A: {1: one(1)}}
    (step,) = compared(both, both, {"a": BEGUN}, now).steps
    assert step == RestoreSubject("a", None, None, keep=True)
    # A registration of the same subject restores it as well.
    (step,) = compared(both, {}, {"a": BEGUN}, now).steps
    assert isinstance(step, RegisterSchemas)
    assert step.mode is None
    # What somebody else has set meanwhile stays.
    other = {"target_configs": {A: SubjectConfig("READONLY")}}
    assert compared(both, both, {"a": BEGUN}, other).steps == []


def test_a_subject_that_is_readonly_on_the_target_is_named_before_it_is_opened() -> None:
    now = {"target_configs": {A: SubjectConfig("READONLY")}}
    (note,) = compared({A: {1: one(1)}, B: {1: one(2)}}, {}, seen=now).notes
    assert str(note).startswith("a: it is READONLY on the target, but for the time in which")


def test_nothing_more_is_written_to_a_registry_that_ignores_ids() -> None:
    source = {A: {1: one(1)}, B: {1: one(2)}}
    found = compared(source, {A: {1: one(4711, "1")}}, {"a": BEGUN})
    assert found.steps == []
    assert "does not keep ids: a was registered with id 1 and has id 4711" in found.problems[0].text


def test_circles_and_lost_references_stop_nothing_else() -> None:
    c = SubjectName("c")
    source = {A: {1: one(1, "", ("b", 1))}, B: {1: one(2, "", ("a", 1))}, c: {1: one(3)}}
    found = compared(source, {})
    assert [step.about for step in found.steps] == ["c"]
    assert {problem.about for problem in found.problems} == {"a", "b"}
    assert "form a circle" in found.problems[0].text
    found = compared({A: {1: one(1, "", ("gone", 1))}, c: {1: one(3)}}, {})
    assert [step.about for step in found.steps] == ["c"]
    assert (
        found.problems[0].text == "version 1 refers to gone version 1, which the source does"
        " not have"
    )


@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_what_refers_to_something_that_stays_out_stays_out_as_well(ids: str) -> None:
    c, d = SubjectName("c"), SubjectName("d")
    lost = {A: {1: one(1, "", ("b", 1))}, B: {1: one(2, "", ("c", 1))}, c: {}, d: {1: one(3)}}
    circle = {**lost, c: {1: one(4, "", ("b", 1))}}
    for source in (lost, circle):
        found = compared(source, {}, ids=ids)
        assert [step.about for step in found.steps] == ["d"]
        assert {problem.about for problem in found.problems} >= {"a", "b"}
    # On the target another schema stands in the place of "a", and would be taken for it.
    found = compared({A: {1: one(1, "x")}, B: {1: one(2, "y", ("a", 1))}}, {A: {1: one(9, "z")}})
    assert found.steps == []
    told = {problem.about: problem.text for problem in found.problems}
    assert told["b"] == "version 1 refers to a version 1, which cannot be brought over"


def test_deep_references_are_compared_without_end_or_overflow() -> None:
    names = [SubjectName(f"s{number}") for number in range(600)]
    source = {
        name: {1: one(at + 1, "", *([(names[at + 1], 1)] if at + 1 < len(names) else []))}
        for at, name in enumerate(names)
    }
    found = compared(source, {}, ids="translate")
    assert (len(found.steps), found.problems) == (600, [])


def test_an_interrupted_step_for_other_ids_is_undone_first() -> None:
    now = {"target_configs": {A: SubjectConfig("IMPORT")}}
    restore, register = compared({A: {1: one(1)}}, {}, {"a": BEGUN}, now, ids="translate").steps
    assert restore == RestoreSubject("a", None, None, keep=True)
    assert isinstance(register, RegisterSchemas)


def test_what_could_not_be_restored_is_named_also_where_the_file_leaves_it_out() -> None:
    error = UnreachableError("target", "the schema registry", "no answer in time")
    (problem,) = compared({}, {}, {"a": BEGUN}, {"unread_there": {A: error}}).problems
    assert problem.about == "a"
    assert problem.text.endswith("so its mode may have to be restored")


def test_a_registry_that_does_not_answer_is_a_problem_and_stops_no_topic() -> None:
    error = UnreachableError("source", "the schema registry", "no answer in time")
    found = diff(ObservedSchemas(trouble=error), schemas_config())
    assert [str(problem.cause) for problem in found.problems] == ["subject"]


def test_texts_that_mean_the_same_are_equal() -> None:
    equal = (
        ("AVRO", '{"type": "record","name":"A"}', '{"name":"A","type":"record"}'),
        ("AVRO", '"int"', '{"type": "int"}'),
        ("PROTOBUF", 'syntax = "proto3"; // c\nmessage A { }', 'syntax="proto3";message A{\n}'),
    )
    for type_, text, other in equal:
        assert Schema(text, type_).body == Schema(other, type_).body
    different = (
        ("AVRO", '{"symbols":["A","B"]}', '{"symbols":["B","A"]}'),
        ("PROTOBUF", 'option a = "x  y";', 'option a = "x y";'),
        ("PROTOBUF", "int32 a", "int3 2a"),
    )
    for type_, text, other in different:
        assert Schema(text, type_).body != Schema(other, type_).body
