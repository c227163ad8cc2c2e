"""`archive status`: trouble first, why a store takes nothing, lives told apart, `--watch`."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.archive.stored import REGION, StoredArchive, old_records
from tests.support.here import Here
from tests.support.objects.buckets import Buckets, StoreFront
from towpath.archive.config import ArchiveConfig
from towpath.archive.keys import lease_key
from towpath.archive.log.lease import HeldArchive
from towpath.archive.show.archive import status_picture
from towpath.archive.show.archive_json import status_data
from towpath.archive.status.status import ArchiveStatus, look_at_archive
from towpath.cli.show import watching
from towpath.cli.show.output import console
from towpath.model.errors import StoreAwayError
from towpath.runtime.clock import now_ms
from towpath.store import Store

FULL = "file:/archive/a: write: the store has no room left ([Errno 28] No space left on device)"


@pytest.fixture
def stored(tmp_path: Path) -> StoredArchive:
    return StoredArchive(tmp_path, "shop", "127.0.0.1:1")


def seen(config: ArchiveConfig) -> ArchiveStatus:
    return look_at_archive(config, ask_source=False)


def lines_of(found: ArchiveStatus, capsys: pytest.CaptureFixture[str]) -> list[str]:
    console().print(status_picture(found))
    return capsys.readouterr().out.splitlines()


def test_a_run_tells_in_its_lease_what_it_cannot_do(
    stored: StoredArchive, capsys: pytest.CaptureFixture[str]
) -> None:
    stored.put("orders", old_records(5))
    config = stored.config()
    with Store(config.store) as store, HeldArchive(store, "shop", REGION, "run", "run") as lease:
        assert lines_of(seen(config), capsys)[0].startswith("file:")
        lease.trouble = FULL
        lease._tell()  # the next beat comes in ten seconds
        found = seen(config)
        assert lines_of(found, capsys)[0] == f"✗ run: {FULL}"
        assert status_data(found)["run_trouble"] == FULL
    assert seen(config).run_trouble == ""


def test_why_a_run_is_silent_whose_store_is_full(
    tmp_path: Path, buckets: Buckets, front: StoreFront, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = StoredArchive(tmp_path, "shop", "127.0.0.1:1")
    kept = front.before(buckets.new())
    config = stored.config().model_copy(update={"store": kept})
    stored.put("orders", old_records(5))
    with Store(stored.config().store) as here, Store(kept) as store:
        for each in here.list():
            store.put_new(each.key, here.get(each.key))
        with HeldArchive(store, "shop", REGION, "run", "run") as lease:
            mine = lease._mine  # as a process leaves it that ends without a word
        from towpath.archive.log.lease import _json

        dead = replace(mine, beat=now_ms() - 120_000, host="elsewhere", space="")
        store.put(lease_key(REGION, "run"), _json.dump_json(dead))
    front.change = lambda how, path, _: (
        (507, "InsufficientStorage") if how == "PUT" and "_probe" in path else None
    )
    found = seen(config)
    first, second, *_ = lines_of(found, capsys)
    assert first.startswith("✗ run: s3://")
    assert "has no room left" in first
    assert second.startswith("✗ run: gives no sign of life since")
    front.change = lambda *_: None
    assert seen(config).run_trouble == ""


def test_lives_of_a_topic_are_told_apart(
    stored: StoredArchive, capsys: pytest.CaptureFixture[str]
) -> None:
    stored.put("orders", old_records(5), number="2069368e-5361")
    stored.put("orders", old_records(7), number="226145be-1b7f")
    stored.put("other", old_records(7))
    rows = [each.split()[1:3] for each in lines_of(seen(stored.config()), capsys)[-3:]]
    assert sorted(rows) == [["orders", "(2069368e)"], ["orders", "(226145be)"], ["other", "0"]]


def test_it_is_watched_until_the_user_stops_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(watching, "_PAUSE", 0.0)
    stop, looks = threading.Event(), iter([2, 3])

    def again() -> int:
        number = next(looks, None)
        if number is None:
            stop.set()
            raise StoreAwayError("s3://b", "read", "no answer")
        return number

    last = watching.watched(1, again, lambda number, _most: f"look {number}", stop)
    assert last == 3
    said = capsys.readouterr().out.splitlines()
    assert [each for each in said if each.startswith("look")] == [
        "look 1", "look 2", "look 3", "look 3",
    ]  # fmt: skip
    assert any(each.startswith("not looked at since") for each in said)


def test_watching_shows_text_alone(stored: StoredArchive, here: Here) -> None:
    stored.put("orders", old_records(5))
    refused = here("archive", "status", str(stored.file()), "--watch", "--output", "json")
    assert refused.code == 2
    assert "shows text only" in refused.said
