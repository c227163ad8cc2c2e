"""The page of a restore: its facts and their digest, with nothing that a browser would do."""

from __future__ import annotations

import hashlib
import json
import re
from html import unescape
from typing import Any

from towpath.archive.show.drill import drill_page
from towpath.cli.show.page import canonical

EVIL = "<script>alert(1)</script>\"'&"
ROW = {
    "source": "eu",
    "topic": EVIL,
    "partition": 3,
    "target": "copy.orders",
    "state": "restored",
    "first": 5,
    "end": 25,
    "restored_to": 25,
    "records": 17,
    "archived_records": 20,
    "archived_bytes": 4096,
    "mode": "identical",
    "reason": "",
    "error": "",
    "codes": [],
    "gaps": [{"first": 10, "end": 13, "why": EVIL, "skipped": True}],
}
COMPARED = {
    "source": "eu",
    "topic": "orders",
    "partition": 3,
    "target": "copy.orders",
    "state": "equal",
    "first": 5,
    "end": 25,
    "records_archived": 17,
    "records_restored": 16,
    "digest_archived": "0123.4567",
    "digest_restored": "0123.4568",
    "ranges": 1,
    "bytes_read": 4096,
    "records_of_others": 0,
    "why": "",
}
FACTS: dict[str, Any] = {
    "restore": "restore.shop",
    "archives": [
        {"source": "eu", "store": "s3://bucket/p", "region": "eu", "version": 7, "time": "then"}
    ],
    "target": ["kafka:9092"],
    "began": "2025-01-31T08:00:00Z",
    "ended": "2025-01-31T08:00:10Z",
    "seconds": 10.0,
    "stopped": False,
    "complete": False,
    "records": 17,
    "left_out": ["group g: it has members"],
    "trouble": "",
    "notes": [EVIL],
    "comparison": {"proven": False, "why": "", "partitions": [COMPARED, {**COMPARED, "why": EVIL}]},
    "partitions": [ROW, {**ROW, "gaps": [], "error": "it waits", "state": "late", "mode": ""}],
}


def test_the_page_tells_what_was_restored() -> None:
    page = drill_page(FACTS)
    text = unescape(re.sub("<[^>]*>", "\n", page))
    for each in (
        "Restore restore.shop", "not complete", "s3://bucket/p, region eu", "7 of then",
        "kafka:9092", "2025-01-31T08:00:00Z", "1 of 2", "copy.orders", "10 to 12", "it waits",
        "group g: it has members", "3 records/s",
    ):  # fmt: skip
        assert each in text, each


def test_the_digest_is_of_the_facts_in_the_page() -> None:
    page = drill_page(FACTS)
    found = re.search(r'<pre id="facts">(.*?)</pre>', page, re.DOTALL)
    assert found is not None
    told = unescape(found[1])
    assert told == canonical(FACTS)
    assert json.loads(told) == FACTS
    assert hashlib.sha256(told.encode()).hexdigest() in page


def test_no_text_of_others_is_markup_and_nothing_is_loaded() -> None:
    page = drill_page(FACTS)
    assert "<script" not in page
    assert "alert(1)&lt;/script&gt;&quot;&#x27;&amp;" in page
    assert not re.search(r"(src|href)=", page)
    assert "default-src 'none'" in page


def told(**comparison: Any) -> str:
    page = drill_page({**FACTS, "comparison": {**FACTS["comparison"], **comparison}})
    return unescape(re.sub("<[^>]*>", "\n", page))


def test_the_page_says_what_is_proven_and_by_what() -> None:
    text = told()
    assert "not proven: 2 of 2 partitions have what the archive holds" in text
    for each in ("orders-3", "5 to 24", "0123.4567", "0123.4568", "its commit log"):
        assert each in text, each
    whole = told(proven=True, partitions=[COMPARED])
    assert "\nproven by digests: the target has what the archive holds (1 partitions)" in whole


def test_a_page_of_counts_alone_says_that_it_proves_nothing() -> None:
    text = told(partitions=[])
    assert "not proven: what was restored was not read back (restore run --verify)" in text
    assert "not proven: the target is away" in told(partitions=[], why="the target is away")


def test_a_restore_of_nothing_has_a_page() -> None:
    empty = {**FACTS, "partitions": [], "archives": [], "seconds": 0.0, "notes": [], "left_out": []}
    assert "0 of 0" in drill_page(empty)
