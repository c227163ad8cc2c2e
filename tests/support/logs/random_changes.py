"""Random changes of records, records that they concern, and what ids become by them."""

from __future__ import annotations

import struct
import zlib
from uuid import UUID

from hypothesis import strategies as st

from tests.support.logs.random_logs import random_logs
from towpath.model.changes import (
    AddedHeader,
    BytesMatch,
    DropRule,
    Encoding,
    Framing,
    HeaderContent,
    IdChange,
    Malformed,
    RecordChange,
    RecordOrigin,
    SubjectStrategy,
)
from towpath.model.nouns import ClusterId, LinkName, TopicName
from towpath.model.reasons import ReasonCode
from towpath.wire.batch import LOG_APPEND_TIME
from towpath.wire.plain import Record
from towpath.wire.program import PART_HEADERS

ORIGIN = RecordOrigin(
    link=LinkName("link"),
    topic=TopicName("orders"),
    partition=7,
    source_cluster=ClusterId("here"),
    target_cluster=ClusterId("home"),
)
NUMBERS = [1, 2, 300, 2**31 - 1]
UUIDS = [UUID(int=5), UUID(int=2**127 + 9), UUID(int=2**128 - 1)]
HEADER_NAMES = ["a", "bb", "x-env", "__value_schema_id", "__key_schema_id", "prov"]

_PAYLOAD = st.binary(max_size=12)
_ID = st.sampled_from(NUMBERS).map(lambda number: struct.pack(">i", number)) | st.binary(
    min_size=4, max_size=4
)
_UUID = st.sampled_from(UUIDS).map(lambda name: name.bytes)


def _joined(*parts: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.tuples(*parts).map(b"".join)


CONFLUENT = _joined(st.just(b"\0"), _ID, _PAYLOAD)
GLUE = _joined(st.sampled_from([b"\3\0", b"\3\1"]), _UUID, _PAYLOAD)
PACKED = _joined(st.just(b"\3\5"), _UUID, _PAYLOAD.map(zlib.compress) | _PAYLOAD)
PART = st.none() | CONFLUENT | GLUE | PACKED | _PAYLOAD | st.sampled_from([b"k1", b"k22", b""])
GUID = _joined(st.just(b"\1"), _UUID, st.sampled_from([b"", b"\2\0"]))
CONTENT = (
    st.none()
    | _PAYLOAD
    | GUID
    | CONFLUENT
    | st.sampled_from([b"home", b"there,home", b"home2,homes", b"here", b"", b","])
)
HEADER = st.tuples(st.sampled_from(HEADER_NAMES).map(str.encode), CONTENT)
RECORDS = st.lists(
    st.builds(
        Record,
        key=PART,
        value=PART,
        headers=st.lists(HEADER, max_size=4).map(tuple),
        timestamp=st.integers(-3, 30) | st.integers(1, 2**41),
    ),
    max_size=6,
)
TEXTS = st.lists(st.sampled_from(["", "k1", "k", "home"]), max_size=2).map(tuple)
HEXES = st.lists(st.sampled_from(["", "00", "0000"]), max_size=2).map(tuple)
MATCH = st.builds(BytesMatch, equal=TEXTS, prefixes=TEXTS) | st.builds(
    BytesMatch, equal=HEXES, prefixes=HEXES, encoding=st.just(Encoding.HEX)
)
RULE = st.builds(
    DropRule,
    name=st.just("rule"),
    key=st.none() | MATCH,
    header=st.none() | st.sampled_from(HEADER_NAMES),
    value=st.none(),
    before=st.none() | st.integers(1, 30),
    since=st.none() | st.integers(1, 30),
    provenance=st.none() | st.just("prov"),
    tombstone=st.booleans(),
) | st.builds(DropRule, name=st.just("value"), header=st.sampled_from(HEADER_NAMES), value=MATCH)
IDS = st.builds(
    IdChange,
    key=st.sampled_from([None, SubjectStrategy.TOPIC]),
    value=st.sampled_from([None, SubjectStrategy.RECORD]),
    headers=st.booleans(),
    framing=st.sampled_from(Framing),
    malformed=st.sampled_from(Malformed),
)
DECISIONS = st.dictionaries(
    st.sampled_from([*NUMBERS, *UUIDS]), st.none() | st.sampled_from([*NUMBERS, 77, *UUIDS])
)

PASSING: dict[int | UUID, ReasonCode] = {
    1: ReasonCode.SCHEMA_ID_LEFT_OUT,
    2: ReasonCode.SCHEMAS_UNSEEN,
    UUIDS[0]: ReasonCode.ERROR,
}


@st.composite
def changes(draw: st.DrawFn) -> RecordChange:
    names = draw(st.permutations(["a", "bb", "x-env", "prov", "new", "more"]))
    cut = draw(st.integers(0, 4))
    headers = tuple(
        AddedHeader(name=name, content=content, text="" if content != "constant" else "text")
        for name in names[:cut]
        for content in [draw(st.sampled_from(HeaderContent))]
    )
    return RecordChange(
        drop=tuple(draw(st.lists(RULE, max_size=2))),
        keep=tuple(draw(st.lists(RULE, max_size=2))),
        ids=draw(st.none() | IDS),
        redact=tuple(names[cut : cut + draw(st.integers(0, 2))]),
        headers=headers,
        codec=draw(st.none() | st.sampled_from(["none", "lz4", "zstd"])),
    )


KNOWN = st.sampled_from(NUMBERS).map(lambda number: b"\0" + struct.pack(">i", number) + b"v")
FRAMED = st.one_of(
    *[KNOWN] * 3,
    _joined(st.just(b"\3\0"), _UUID, _PAYLOAD),
    _joined(st.just(b"\3\5"), _UUID, _PAYLOAD.map(zlib.compress), st.sampled_from([b"", b"more"])),
    PART,
)
WITH_IDS = st.lists(
    st.builds(
        Record,
        key=FRAMED,
        value=FRAMED,
        headers=st.lists(
            HEADER | st.tuples(st.sampled_from(PART_HEADERS), GUID | KNOWN), max_size=3
        ).map(tuple),
        timestamp=st.integers(1, 30),
    ),
    max_size=6,
)
DECIDED = st.fixed_dictionaries(
    {name: st.sampled_from([77, 300, *UUIDS, name, None]) for name in [*NUMBERS, *UUIDS]}
)


def logs(
    records: st.SearchStrategy[list[Record]] = RECORDS,
) -> st.SearchStrategy[list[bytearray]]:
    """Return what draws consecutive batches, with holes within and between them."""
    return random_logs(
        st.lists(records, min_size=1, max_size=3),
        [1, 1, 2, 90],
        attributes=st.sampled_from([0, LOG_APPEND_TIME]),
        max_timestamp=st.none() | st.integers(0, 40),
    )
