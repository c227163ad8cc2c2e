"""Reasons that Towpath 0.1 wrote as sentences; `told.tsv` has keys and values as it wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from towpath.ledger import entries
from towpath.ledger.entries import Gap, Opened, Receipt, TransactionalProducer
from towpath.model.reasons import Reason, ReasonCode

LINES = [
    tuple(line.encode().split(b"\t"))
    for line in (Path(__file__).parent / "told.tsv").read_text().splitlines()
]
REFUSED = Reason.of(ReasonCode.IDS_REFUSED, error="INVALID_PRODUCER_ID_MAPPING")
OFFSET_TAKEN = (
    "the record lies at target offset 11, not at its own 10: another writer was there first"
)
NOT_IDENTICAL = "offsets cannot stay identical: {}; set `records.offsets: auto` to have this"
NOT_IDENTICAL += " partition mapped"
MEANT = [
    (),
    (Reason.of(ReasonCode.ASKED_FOR),),
    "the target partition ended at offset 7 already",
    "a compacted topic cannot be made to begin at offset 3",
    "the source begins at offset 3000000000, too far to fill",
    OFFSET_TAKEN,
    (REFUSED,),
    (Reason.of(ReasonCode.ASKED_FOR), REFUSED),
    (
        Reason.of(
            ReasonCode.TOLD,
            text="the source has no records at offsets 5 to 6 (compaction), and `records.fill` lets"
            " 100 offsets be filled in all",
        ),
        Reason.of(ReasonCode.IDS_REFUSED, error="PRODUCER_FENCED"),
    ),
    "offsets 10 to 14 are missing: retention at the source removed them before they were copied",
    Reason.of(ReasonCode.SOURCE_TOPIC_DELETED),
    Reason.of(ReasonCode.SOURCE_TOPIC_RECREATED),
    "offsets 10 to 14 were not copied: retention at the source removed them before they were"
    " copied; set `records.on_gap: record` to go on behind them",
    NOT_IDENTICAL.format(OFFSET_TAKEN),
    "target: producing to eu.orders-0: TOPIC_AUTHORIZATION_FAILED (29); the login needs the ACL"
    " Write on topic eu.orders",
    "target: eu.orders-0 lost records that it had acknowledged: offset 29 was acknowledged, and"
    " the log ends at offset 19 (a lost disk, an unclean leader election, a power cut?); run"
    " `towpath repair` to copy them again, or delete the topic on the target to have all of it"
    " copied again",
    Reason.of(ReasonCode.RETENTION),
    "the source log was cut to offset 20 (unclean leader election); what was copied beyond it is"
    " on the target only",
    Reason.of(ReasonCode.SOURCE_TOPIC_DELETED),
    Reason.of(ReasonCode.SOURCE_TOPIC_RECREATED),
    NOT_IDENTICAL.format("the target partition ended at offset 7 already"),
    REFUSED,
]
"""What each line says: the reasons that are recognised, else the sentence as it is shown."""


def reasons(entry: entries.ReadEntry | None) -> Reason | tuple[Reason, ...]:
    match entry:
        case Opened():
            return entry.reasons
        case Receipt():
            return entry.reasons or (() if entry.trouble is None else entry.trouble)
        case Gap() | TransactionalProducer():
            return entry.why
        case _:
            raise AssertionError(entry)


@pytest.mark.parametrize(
    ("line", "meant"), [*zip(LINES, MEANT, strict=True)], ids=range(len(LINES))
)
def test_sentences_of_old_entries_are_read(line: tuple[bytes, bytes], meant: Any) -> None:
    found = reasons(entries.decode(*line))
    if isinstance(meant, str):
        each = found[0] if isinstance(found, tuple) else found
        assert (each.code, str(each)) == (ReasonCode.TOLD, meant)
    else:
        assert found == meant


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_older_versions_read_the_sentence_beside_the_code(line: tuple[bytes, bytes]) -> None:
    """They require it, and know nothing of the code."""
    entry = entries.decode(*line)
    assert isinstance(entry, Opened | Receipt | Gap | TransactionalProducer)
    key, value = entries.encode(entry)
    assert value is not None
    old, new = json.loads(line[1]), json.loads(value)
    texts = {"reason", "error", "cause"} & old.keys()
    assert texts
    assert (key, {name: new[name] for name in texts}) == (
        line[0],
        {name: old[name].removeprefix("orders-0: ") for name in texts},
    )


def known(line: int, **changed: Any) -> entries.ReadEntry | None:
    """Return an entry of today with other values in its JSON."""
    entry = entries.decode(*LINES[line])
    assert isinstance(entry, Opened | Receipt | Gap | TransactionalProducer)
    key, value = entries.encode(entry)
    assert value is not None
    return entries.decode(key, json.dumps({**json.loads(value), **changed}).encode())


def test_of_a_code_of_a_later_version_the_sentence_is_shown() -> None:
    later = {"code": "LATER", "offset": 5}
    gap = known(16, why=later, cause="the moon was full")
    assert isinstance(gap, Gap)
    assert (gap.why.code, gap.cause) == (ReasonCode.TOLD, "the moon was full")
    mapped = known(7, reasons=[{"code": "ASKED_FOR"}, later], reason="asked for; the moon was full")
    assert isinstance(mapped, Receipt)
    assert mapped.reason == "asked for; the moon was full"
    stopped = known(10, trouble=later, error="the moon was full")
    assert isinstance(stopped, Receipt)
    assert stopped.error == "the moon was full"


def test_what_stands_in_the_ledger_is_code_and_values() -> None:
    entry = entries.decode(*LINES[7])
    assert isinstance(entry, Receipt)
    _, value = entries.encode(entry)
    assert value is not None
    body = json.loads(value)
    assert body["reasons"] == [
        {"code": "ASKED_FOR"},
        {"code": "IDS_REFUSED", "error": "INVALID_PRODUCER_ID_MAPPING"},
    ]
    assert body["trouble"] is None
