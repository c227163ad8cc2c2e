"""The digest of a change: what it covers, and that it stays what it is."""

from __future__ import annotations

import pickle
from dataclasses import replace

from pydantic import TypeAdapter

from towpath.model.changes import (
    NO_CHANGE,
    AddedHeader,
    BytesMatch,
    DropRule,
    Framing,
    HeaderContent,
    IdChange,
    RecordChange,
    Undeliverable,
)

FULL = RecordChange(
    drop=(DropRule(name="tmp", key=BytesMatch(prefixes=("tmp-",)), before=1_735_689_600_000),),
    ids=IdChange(key=None, framing=Framing.FROM_GLUE),
    redact=("authorization",),
    headers=(
        AddedHeader(name="env", text="prod"),
        AddedHeader(name="redpanda-migrator-offset", content=HeaderContent.REDPANDA_OFFSET),
    ),
    codec="zstd",
)


def test_the_digest_of_a_definition_never_changes() -> None:
    assert NO_CHANGE.digest == ""
    assert FULL.digest == "c1f24acfcece4d52"
    assert RecordChange(ids=IdChange()).digest == "080b1fda4dbc5061"


def test_it_covers_what_happens_to_records_alone() -> None:
    patient = replace(FULL, ids=replace(FULL.ids, wait_ms=1, strict=True))  # type: ignore[type-var]
    assert replace(patient, undeliverable=Undeliverable.SKIP).digest == FULL.digest
    assert replace(FULL, codec="lz4").digest != FULL.digest
    assert replace(FULL, version=2).digest != FULL.digest
    assert RecordChange(undeliverable=Undeliverable.SKIP).digest == ""


def test_it_survives_pickle_and_json() -> None:
    adapter = TypeAdapter(RecordChange)
    assert pickle.loads(pickle.dumps(FULL)) == FULL  # noqa: S301, our own bytes
    assert adapter.validate_json(adapter.dump_json(FULL)) == FULL


def test_only_rules_drop_records() -> None:
    assert FULL.drops
    assert not replace(FULL, drop=()).drops
    assert RecordChange(ids=IdChange(), codec="lz4").only_ids
    assert not replace(FULL, drop=()).only_ids


def test_what_is_kept_leaves_the_rest_out() -> None:
    kept = RecordChange(keep=(DropRule(name="a"), DropRule(name="b")), drop=(DropRule(name="c"),))
    assert kept.drops
    assert kept.rules == ("c", "all but a or b")
    assert replace(FULL, keep=()).digest == FULL.digest
    assert replace(FULL, keep=(DropRule(name="a"),)).digest != FULL.digest
