"""What the file of an archive becomes, and its problems, each once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from towpath.archive.config import RestoredSchemas, load_archive
from towpath.archive.config.segments import SegmentLimits
from towpath.archive.restore.task import RestoreTask
from towpath.model.changes import IdChange, SubjectStrategy
from towpath.model.errors import ConfigError
from towpath.settings import check, load

Write = Callable[[str], Path]

MINIMAL = """\
kind: archive
archive: orders
source: {bootstrap: "a:9092"}
store: {url: "s3://bucket/archive"}
region: eu
topics: {include: ["orders"]}
"""
LINK = """\
source: {bootstrap: "a:9092"}
target: {bootstrap: "b:9092"}
link: orders
topics: {include: ["orders"]}
"""


def test_a_minimal_file_has_the_defaults_of_the_specified_system(write: Write) -> None:
    config = load_archive(write(MINIMAL))
    assert (config.archive, config.region, config.format) == ("orders", "eu", "parquet")
    assert config.segments.of("orders") == SegmentLimits(1_000_000, 100 << 20, 300.0)
    assert (config.compaction, config.target, config.group) == ((), None, None)
    assert config.topics.matches("orders")
    assert not config.topics.matches("orders.eu")
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301, our own bytes


def test_topics_may_have_limits_of_their_own(write: Write) -> None:
    text = "{max_age: 1m, topics: {'a.*': {max_messages: 5}, 'ab': {max_bytes: 1MiB}}}"
    segments = load_archive(write(MINIMAL + f"segments: {text}\n")).segments
    assert segments.of("ab") == SegmentLimits(5, 100 << 20, 60.0)
    assert segments.of("b") == SegmentLimits(1_000_000, 100 << 20, 60.0)


def test_a_rule_of_compaction_has_the_defaults_of_the_specified_system(write: Write) -> None:
    (rule,) = load_archive(write(MINIMAL + "compaction: [{}]\n")).compaction
    assert (rule.min_level, rule.max_level, rule.batch, rule.delete) == (0, 0, 10_000, True)
    assert (rule.min_count, rule.max_count) == (10, 10_000)
    assert (rule.min_size, rule.max_size, rule.min_age) == (1 << 30, 4 << 30, 3600.0)
    assert (rule.schedule, str(rule.time_zone)) == (None, "UTC")
    assert rule.concerns("anything")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("kind: archives\n", "kind: 'archives' is not one of link, archive, kraft"),
        ("kind: 5\n", "kind: must be one of link, archive, kraft, not the number 5"),
        ("archive: my orders\n", "archive: must be 1 to 100 letters, digits, '.', '_' or '-'"),
        (
            "region: a/b\n",
            "region: must be 1 to 100 letters, digits, '.', '_' or '-', the first a letter or"
            " digit",
        ),
        ("comapction: []\n", "comapction: unknown key, did you mean compaction?"),
        ("topics: {include: [a], rename: b}\n", "topics.rename: unknown key here; it belongs into"
         " restore.sources.topics or restore.sources.schemas or restore.topics or restore.groups or"
         " restore.schemas"),
        ("format: avro\n", "format: 'avro' is not one of parquet, batches"),
        ("segments: {max_messages: 1}\n", "segments.max_messages: 1 is too small; write at least"
         " 2"),
        ("segments: {max_bytes: 1B}\n", "segments.max_bytes: 1B is not between 64KiB and 4GiB"),
        ("segments: {max_age: 10ms}\n", "segments.max_age: 10ms is not between 1s and 1d"),
        (
            "segments: {topics: {'(': {}}}\n",
            "segments.topics.*: '(' is not a regular expression: missing ), unterminated"
            " subpattern at position 0",
        ),
        (
            "compaction: [{min_level: 2, max_level: 1}]\n",
            "compaction[0].max_level: 1 is less than min_level, 2",
        ),
        (
            "compaction: [{min_count: 5, max_count: 4}]\n",
            "compaction[0].max_count: 4 is less than min_count, 5",
        ),
        ("compaction: [{min_size: 5GiB}]\n", "compaction[0].max_size: 4GiB is less than min_size,"
         " 5GiB"),
        (
            "compaction: [{zone: Mars}]\n",
            "compaction[0].zone: 'Mars' is not a time zone, such as UTC or Europe/Berlin",
        ),
        (
            "compaction: [{schedule: daily}]\n",
            "compaction[0].schedule: must be a schedule, such as `0 0 1 * * *` (second, minute,"
            " hour, day, month, weekday) or `@daily`",
        ),
        ("run: {heartbeat: 0s}\n", "run.heartbeat: 0s is not between 1s and 1d"),
        ("group: ''\n", "group: must not be empty"),
        ("restore: {range: {from: 5, to: 5}}\n", "restore.range.to: is not behind `from`, so the"
         " range is empty"),
        ("restore: {range: {from: -1}}\n", "restore.range.from: -1 is not an offset, which is from"
         " 0 to 9223372036854775807"),
        ("restore: {range: {to: soon}}\n", "restore.range.to: 'soon' is not a time such as"
         " 2025-01-31T08:00:00Z"),
        ("restore: {range: {to: true}}\n", "restore.range.to: must be an offset, or a time such as"
         " 2025-01-31T08:00:00Z, not true"),
        ("restore: {filter: [{topics: [a]}]}\n", "restore.filter[0]: has neither `keep` nor `drop`,"
         " so it would leave nothing out"),
        ("restore: {filter: [{topics: [a], keep: [{}]}]}\n", "restore.filter[0].keep[0]: would mean"
         " every record; give a condition, such as `key`"),
        ("restore: {offsets: identical, filter: [{topics: [a], drop: [{tombstones: true}]}]}\n",
         "restore.offsets: cannot be `identical` where `filter` leaves records out; use `auto`"),
        ("restore: {partitions: [{topics: [a], place: key}]}\n", "restore.partitions[0].count: is"
         " required"),
        ("restore: {follow: {silence: 1m}}\n", "restore.follow.silence: 1m is not longer than"
         " run.heartbeat, 1m, so region eu would count as silent between two signs of life; make it"
         " several times as long"),
        ("restore: {notify: {kind: sqs, queue: q}, sources: [{region: us, store: {url:"
         " 'gs://b/p'}}]}\n", "restore.notify: is for buckets that send events to SQS (s3://), and"
         " nothing is restored from one (gs://); leave it out"),
    ],
)  # fmt: skip
def test_each_problem_of_a_file_has_its_sentence(write: Write, more: str, problem: str) -> None:
    key = more.partition(":")[0]
    kept = [line for line in MINIMAL.splitlines() if line.partition(":")[0] != key]
    path = write("\n".join([*kept, more]))
    assert [each.sentence for each in check(path)] == [problem]


def test_a_region_that_is_followed_gives_its_signs_of_life_before_it_counts_as_silent(
    write: Write,
) -> None:
    """Only where the region is followed: others have files, and heartbeats, of their own."""
    slow = MINIMAL + "run: {heartbeat: 1d}\ntarget: {bootstrap: 'b:9092'}\n"
    own = load_archive(write(slow))
    assert RestoreTask.each(own)
    with pytest.raises(ConfigError, match="5m is not longer than"):
        RestoreTask.each(own, follow=True)
    other = slow + "restore: {sources: [{region: us}], follow: {look: 1s}}\n"
    assert RestoreTask.each(load_archive(write(other)), follow=True)
    both = slow + "restore: {sources: [{region: us}, {region: eu}], follow: {silence: 5d}}\n"
    assert RestoreTask.each(load_archive(write(both)), follow=True)


def test_all_problems_are_told_at_once(write: Write) -> None:
    path = write("kind: archive\nregion: '-'\nsegments: {max_age: 5}\n")
    assert [str(each).partition(": ")[0].rpartition(":")[0] for each in check(path)] == [
        f"{path}:1", f"{path}:1", f"{path}:1", f"{path}:1", f"{path}:2", f"{path}:3",
    ]  # fmt: skip
    assert {each.path for each in check(path)} == {
        "archive", "source", "store", "topics", "region", "segments.max_age"
    }  # fmt: skip


def test_each_command_takes_its_kind_of_file(write: Write) -> None:
    with pytest.raises(ConfigError) as refused:
        load(write(MINIMAL))
    assert str(refused.value).endswith(
        "link.yaml:1:7: kind: the file describes an archive, which has commands of its own; this"
        " command takes the file of a link"
    )
    with pytest.raises(ConfigError) as refused:
        load_archive(write(LINK))
    assert str(refused.value).endswith(
        "link.yaml:1:1: kind: the file describes a link, which has commands of its own; this"
        " command takes the file of an archive (`kind: archive`)"
    )


def test_the_kind_may_be_named_in_the_file_of_a_link(write: Write) -> None:
    assert load(write("kind: link\n" + LINK)) == load(write(LINK))


def test_a_file_without_its_kind_is_judged_by_its_keys(write: Write) -> None:
    (problem,) = check(write(MINIMAL.partition("\n")[2]))
    assert problem.sentence == "kind: is required"


TO = 'target: {url: "https://r:8081"}'


def test_schemas_come_back_with_their_ids_and_deleted_ones_unless_the_file_says_otherwise(
    write: Write,
) -> None:
    def schemas(more: str) -> RestoredSchemas:
        found = load_archive(write(f"{MINIMAL}restore: {{schemas: {{{TO}{more}}}}}\n"))
        assert found.restore.schemas is not None
        return found.restore.schemas

    kept = schemas("")
    assert (kept.ids, kept.deleted, kept.id_change) == ("keep", "keep", None)
    translated = schemas(", ids: translate, key: none, value: record, strict: true")
    assert translated.deleted == "skip"
    assert translated.id_change == IdChange(
        key=None, value=SubjectStrategy.RECORD, strict=True, wait_ms=120_000
    )
    assert schemas(", ids: translate, key: none, value: none").id_change is None


@pytest.mark.parametrize(
    ("store", "more", "problem"),
    [
        ("", ", strict: true", "restore.schemas.strict: needs `ids: translate`"),
        ("", ", ids: translate, deleted: keep", "restore.schemas.deleted: `keep` needs"),
        (", layout: broker-log", "", "restore.schemas: is not used with store.layout: broker-log"),
    ],
)
def test_what_schemas_cannot_come_back_with_is_told(
    write: Write, store: str, more: str, problem: str
) -> None:
    text = MINIMAL.replace('archive"}', f'archive"{store}}}')
    path = write(f"{text}restore: {{schemas: {{{TO}{more}}}}}\n")
    (found,) = check(path)
    assert problem in found.sentence
