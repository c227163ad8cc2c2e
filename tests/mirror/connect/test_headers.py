"""Headers of one's own in files of Redpanda Connect."""

from __future__ import annotations

import pytest

from towpath.bloblang import parse_mapping
from towpath.mirror.connect.headers import AddedHeaders, added_headers
from towpath.settings.naming import template_of
from towpath.settings.sections.changes import HeaderConfig

VALUES: dict[str, dict[str, str]] = {
    "blue": {"value": "blue"},
    "": {"value": ""},
    "${{! @kafka_topic }}": {"value": "${! @kafka_topic }"},
    '${! "a" + "b" }-${! 1 + 2 }': {"value": "ab-3"},
    "${! @kafka_topic }": {"of": "topic"},
    '${! metadata("kafka_partition") }': {"of": "partition"},
    "${! @kafka_partition.string() }": {"of": "partition"},
    "${! @kafka_offset }": {"of": "offset"},
    '${! meta("kafka_timestamp_ms") }': {"of": "timestamp"},
    "eu-${! @kafka_topic.uppercase() }": {"template": "eu-${! @kafka_topic.uppercase() }"},
    "${! @source_topic }": {"of": "topic"},
    "${! @team }": {"value": "blue"},
    "${! @shout }!": {"template": '${! (@"kafka_topic").uppercase() }!'},
    "${! @both }": {"template": '${! ("blue" + (@"kafka_topic").uppercase()) }'},
}
MAPPINGS = [
    parse_mapping('meta team = "blue"\nmeta source_topic = @kafka_topic'),
    parse_mapping("meta shout = @kafka_topic.uppercase()"),
    parse_mapping("meta both = @team + @shout\nmeta shout = @kafka_topic.uppercase()"),
]


def added(text: str, *taken: str) -> AddedHeaders:
    return added_headers({"x": text}, MAPPINGS, {*taken})


@pytest.mark.parametrize("text", VALUES)
def test_a_value_is_what_it_is_in_connect(text: str) -> None:
    made = added(text)
    assert made.problems == ()
    assert made.headers == ({"name": "x", **VALUES[text]},)
    HeaderConfig.model_validate(made.headers[0])


def test_a_template_holds_for_each_topic() -> None:
    [made] = added("${! @both }").headers
    header = HeaderConfig.model_validate(made).header("orders")
    assert (header.name, header.text) == ("x", "blueORDERS")


ALONE = "is possible alone: give"
REFUSED = {
    "p${! @kafka_partition }": f"asks for @kafka_partition, which {ALONE}",
    "${! @kafka_topic }-${! @kafka_offset }": f"asks for @kafka_offset, which {ALONE}",
    "${! @kafka_offset + 1 }": f"asks for @kafka_offset, which {ALONE}",
    "${! @kafka_timestamp_unix }": "which is not known here; use @kafka_timestamp_ms",
    "${! @kafka_key }": "asks for @kafka_key, which is not known here; keys go over as they are",
    "${! @kafka_tombstone_message }": "a header can be @kafka_topic, @kafka_partition",
    "${! @ }": "asks for all metadata, which is not known here; name what you need of it",
    "${! @trace }": "which is a header of the record, which goes over as it is",
    "${! this.id }": "asks for the content of records, which is not read here",
    '${! throw("never") }': "never",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_no_header_can_be_is_refused_with_the_reason(text: str) -> None:
    [problem] = added(text).problems
    assert problem.below == ("output", "redpanda_migrator", "headers", "x")
    assert REFUSED[text] in problem.text


FUNCTIONS = {
    "now()": "it gives another value each time, and a record that is copied again must become the",
    "uuid_v4()": "it gives another value each time",
    "timestamp_unix_milli()": "@kafka_timestamp_ms is the time of the record",
    "hostname()": "several processes on several machines copy the records of a link",
    'env("TEAM")': "write ${NAME}, which is replaced when the file is read",
    'json("id")': "the content of records is not read here",
}


@pytest.mark.parametrize("text", FUNCTIONS)
def test_functions_that_would_differ_each_time_are_refused(text: str) -> None:
    name = text.partition("(")[0]
    with pytest.raises(ValueError, match=f"the function {name} is not known here; ") as error:
        template_of(f"${{! {text} }}")
    assert FUNCTIONS[text] in str(error.value)


def test_names_of_the_migrators_own_headers_keep_its_values() -> None:
    made = added("blue", "x")
    assert made.headers == ()
    assert "the header x is the migrator's own; its value stays that" in made.notes


def test_metadata_that_nobody_asks_for_is_told() -> None:
    told = [note for note in added("${! @team }").notes if "has no effect" in note]
    assert [note.split("`")[1] for note in told] == [
        f"meta {name} = ..." for name in ("source_topic", "both")
    ]
