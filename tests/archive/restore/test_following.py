"""An archive that grows elsewhere: what is read of its log, and chosen of its topics."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.archive.copied import Copied
from tests.support.archive.stored import StoredArchive, old_records
from towpath.archive.config import RestoreConfig, load_archive
from towpath.archive.errors import BrokenLogError
from towpath.archive.log import AsOf, CommitLog, commit_log
from towpath.archive.restore.following import FollowedArchive, TopicGenerations, shape_of
from towpath.archive.restore.log_watch import HeardState, heard_of
from towpath.archive.restore.scope import scope_of
from towpath.archive.restore.task import RestoreTask
from towpath.ledger.books import LinkBooks
from towpath.model.errors import ConfigError
from towpath.model.nouns import LinkName, TopicName
from towpath.runtime.clock import now_ms

TARGET = "127.0.0.1:1"


class Copy:
    """An archive, and a copy of it that is followed."""

    def __init__(self, folder: Path) -> None:
        (folder / "far" / "shop-store").mkdir(parents=True)
        self.far = StoredArchive(folder / "far", "shop", TARGET)
        self.near = StoredArchive(folder, "shop", TARGET)
        self.copied = Copied(folder / "far" / "shop-store", folder / "shop-store")

    def follow(self) -> FollowedArchive:
        rules = RestoreConfig.model_validate({"follow": {"look": "100ms", "silence": "1s"}})
        return FollowedArchive(self.near.store, "eu", rules.follow)


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_entries_that_arrive_in_another_order_are_waited_for(copy: Copy) -> None:
    copy.far.put("orders", old_records(5))
    copy.copied.copy()
    followed = copy.follow()
    copy.far.put("orders", old_records(5, 5))
    second = copy.copied.entries()
    copy.far.put("orders", old_records(5, 10))
    copy.copied.copy(*(key for key in copy.copied.left() if key not in second))
    assert not followed.look(at_once=True)
    heard = followed.heard
    assert (heard.state, heard.version, heard.codes) == (
        HeardState.BROKEN,
        1,
        ("ARCHIVE_OVERTAKEN",),
    )
    with pytest.raises(BrokenLogError):  # a restore up to the end must not end there
        CommitLog.open(copy.near.store, "eu")
    assert CommitLog.open(copy.near.store, "eu", arriving=True).state.version == 1
    copy.copied.copy()
    assert followed.look(at_once=True)
    assert (followed.heard.state, followed.heard.version) == (HeardState.FOLLOWED, 3)


def test_a_checkpoint_leads_over_an_entry_that_never_comes(copy: Copy) -> None:
    copy.far.put("orders", old_records(5))
    copy.copied.copy()
    followed = copy.follow()
    copy.far.put("orders", old_records(5, 5))
    second = copy.copied.entries()
    log = copy.far.log
    log.checkpoint()
    copy.far.put("orders", old_records(5, 10))
    copy.copied.copy(*(key for key in copy.copied.left() if key not in second))
    assert followed.look(at_once=True)
    assert followed.reopened
    assert followed.heard.version == 3


def test_an_entry_that_is_damaged_is_told_until_it_is_mended(copy: Copy) -> None:
    copy.far.put("orders", old_records(5))
    copy.copied.copy()
    followed = copy.follow()
    copy.far.put("orders", old_records(5, 5))
    [key] = copy.copied.entries()
    copy.copied.copy()
    path = copy.near.folder / "shop-store" / key
    whole = path.read_bytes()
    path.write_bytes(b"{}")
    assert not followed.look(at_once=True)
    broken = followed.heard
    assert (broken.state, key in broken.why) == (HeardState.BROKEN, True)
    path.write_bytes(whole)
    assert followed.look(at_once=True)
    assert followed.heard.state is HeardState.FOLLOWED


def test_silence_is_told_by_the_age_of_the_last_entry(copy: Copy) -> None:
    copy.far.put("orders", old_records(5))
    state = copy.far.log.state
    assert heard_of("eu", state, 60).state is HeardState.FOLLOWED
    later = heard_of("eu", state, 60, now=now_ms() + 61_000)
    assert (later.state, later.codes) == (HeardState.SILENT, ("ARCHIVE_SILENT",))
    assert "region eu: silent, version 1 of" in str(later)


@pytest.mark.parametrize("hours", [-3, 3])
def test_silence_is_told_whatever_the_clock_of_the_writer_says(
    copy: Copy, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    now = now_ms()
    monkeypatch.setattr(commit_log, "now_ms", lambda: now + hours * 3_600_000)
    copy.far.put("orders", old_records(5))
    copy.copied.copy()
    followed = copy.follow()
    copy.far.put("orders", old_records(5, 5))
    copy.copied.copy()
    passed = 0.0
    clock = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() + passed)
    assert followed.look(at_once=True)
    told = [followed.heard.state]
    passed = 301.0
    told.append(followed.heard.state)
    fresh = copy.follow()
    told.append(fresh.heard.state)
    passed = 602.0
    told.append(fresh.heard.state)
    at_first = HeardState.FOLLOWED if hours > 0 else HeardState.SILENT  # it cannot know yet
    assert told == [HeardState.FOLLOWED, HeardState.SILENT, at_first, HeardState.SILENT]


def test_topics_of_one_name_come_one_behind_the_other(copy: Copy) -> None:
    copy.far.put("orders", old_records(5), number="first")
    copy.far.put("orders", old_records(5), number="second")
    rules = RestoreConfig()
    archive = FollowedArchive(copy.far.store, "eu", RestoreConfig().follow).archive
    books = LinkBooks(LinkName("restore.shop"))
    found = scope_of(archive, rules, TopicGenerations(books))
    assert found.topics[TopicName("orders")].topic.id == "second"  # the first one was never begun
    assert not found.awaiting
    assert shape_of(found) == shape_of(scope_of(archive, rules))


def test_sources_are_restores_of_their_own(copy: Copy) -> None:
    file = copy.near.file(
        late={"looks": 3, "timeout": "7s"},
        sources=[
            {"region": "eu", "lost": "skip", "first_delay": "30m"},
            {"region": "eu", "name": "again", "topics": {"rename": "{topic}.again"}},
            {"region": "us", "late": {"looks": 5, "timeout": "1h"}, "store": {"url": "s3://b/p"}},
        ],
    )
    eu, again, us = RestoreTask.each(load_archive(file), AsOf(), follow=True)
    assert [each.name for each in (eu, again, us)] == [
        "restore.shop.eu",
        "restore.shop.again",
        "restore.shop.us",
    ]
    assert (eu.region, again.region, us.region) == ("eu", "eu", "us")
    assert (eu.late.skip, again.late.skip, eu.first_delay) == (True, False, 1800.0)
    assert (eu.late.retries, us.late.retries, us.late.seconds) == (3, 5, 3600.0)
    assert again.rules.topics.rename == "{topic}.again"
    assert us.store.url == "s3://b/p"
    assert all(each.follow for each in (eu, again, us))


def test_two_sources_of_one_name_are_refused(copy: Copy) -> None:
    with pytest.raises(ConfigError, match="has two sources eu; give them a `name` each"):
        copy.near.config(sources=[{"region": "eu"}, {"region": "eu"}])
    with pytest.raises(ConfigError, match=r"is not used with `restore.sources`"):
        copy.near.config(region="eu", sources=[{"region": "eu"}])
