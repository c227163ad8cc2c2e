"""Parts of an archived registry come back from their objects as they were."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.archive.errors import BrokenLogError, NewerArchiveError
from towpath.archive.keys import data_key
from towpath.archive.log.entries import Capture
from towpath.archive.log.schema_parts import (
    ArchivedSubject,
    ArchivedVersion,
    SchemaPart,
    captured_parts,
    packed,
    part_of,
    unpacked,
)
from towpath.archive.log.state import ArchiveState, Captured
from towpath.model.schemas import (
    ALL_SUBJECTS,
    PROTOBUF,
    Schema,
    SchemaId,
    SchemaReference,
    SubjectConfig,
    SubjectName,
)

ORDER = SubjectName(":.eu:order")
SUBJECTS = {
    ORDER: ArchivedSubject(
        SubjectConfig("READONLY", "FULL", normalize=False, more='{"alias": "x"}'),
        {
            1: ArchivedVersion(SchemaId(7), Schema('"int"'), deleted=True),
            3: ArchivedVersion(
                SchemaId(2**31 - 1),
                Schema(
                    'syntax = "proto3"; // ü\n',
                    PROTOBUF,
                    (SchemaReference("a.proto", SubjectName("a"), 2),),
                    '{"tags": {"x": ["PII"]}}',
                    '{"domainRules": []}',
                ),
                gone=True,
            ),
        },
    ),
    ALL_SUBJECTS: ArchivedSubject(SubjectConfig(compatibility="NONE")),
}


def state_of(*captures: Capture) -> ArchiveState:
    return ArchiveState(captures={(c.kind, c.name): Captured(c.value, 4) for c in captures})


def test_all_that_a_part_has_comes_back() -> None:
    part, data = packed("eu", "0f", SUBJECTS)
    assert unpacked(part, data, "here") == SUBJECTS
    assert (part.subjects, part.versions, part.size) == (1, 2, len(data))
    assert captured_parts(state_of(part.capture("0f")), "log") == {"0f": part}


def test_equal_subjects_make_the_same_object_whatever_their_order() -> None:
    one = packed("eu", "0f", SUBJECTS)
    assert packed("eu", "0f", dict(reversed(SUBJECTS.items()))) == one
    assert one[0].object.startswith("eu/_log/schemas/0f-")
    assert data_key("eu", one[0].object) is None  # pruning and compaction never touch it


@given(st.text(), st.integers(1, 2**31 - 1), st.text())
def test_any_text_comes_back(name: str, number: int, text: str) -> None:
    subjects = {SubjectName(name): ArchivedSubject(versions={1: ArchivedVersion(SchemaId(number), Schema(text))})}  # fmt: skip  # noqa: E501
    part, data = packed("eu", part_of(SubjectName(name)), subjects)
    assert unpacked(part, data, "here") == subjects


def test_an_object_with_other_bytes_is_named() -> None:
    part, data = packed("eu", "0f", SUBJECTS)
    with pytest.raises(BrokenLogError, match="here: it has other bytes than when the schemas"):
        unpacked(part, data + b"x", "here")


def test_an_object_that_cannot_be_read_is_named() -> None:
    part, _ = packed("eu", "0f", SUBJECTS)
    for data in (b"x", gzip.compress(b"[]"), gzip.compress(b'{"v": 1}')):
        with pytest.raises(BrokenLogError, match="no schemas that can be read"):
            unpacked(_named(part, data), data, "here")


def test_an_object_of_a_newer_towpath_is_refused() -> None:
    part, _ = packed("eu", "0f", SUBJECTS)
    data = gzip.compress(json.dumps({"v": 2}).encode())
    with pytest.raises(NewerArchiveError):
        unpacked(_named(part, data), data, "here")


def test_a_capture_that_is_no_part_is_named() -> None:
    capture = Capture(kind="schemas", name="0f", value={"object": 1})
    with pytest.raises(BrokenLogError, match="the schemas 0f in version 4 cannot be read"):
        captured_parts(state_of(capture), "log")


def test_forty_thousand_schemas_are_256_small_captures() -> None:
    names = [SubjectName(f"subject-{number}-value") for number in range(40_000)]
    sizes = [0] * 256
    for name in names:
        sizes[int(part_of(name), 16)] += 1
    assert min(sizes) > 80
    assert max(sizes) < 260
    part, _ = packed("eu", "0f", SUBJECTS)
    assert len(json.dumps(part.capture("0f").value)) * 256 < 64_000


def _named(part: SchemaPart, data: bytes) -> SchemaPart:
    import hashlib

    return replace(part, object=f"eu/_log/schemas/0f-{hashlib.sha256(data).hexdigest()}.json.gz")
