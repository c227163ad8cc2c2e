"""Locks on objects: what requests carry, what a store does about them, and one that has none."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.compacting import EAGER, compacted, held_records
from tests.support.archive.mixed import REGION, MixedArchive, partition
from tests.support.archive.stored import old_records
from tests.support.objects.buckets import Buckets, StoreFront, client
from towpath.archive.config import ArchiveConfig
from towpath.archive.log import CommitLog
from towpath.model.errors import ObjectExistsError, StoreRefusedError
from towpath.runtime.clock import now_ms
from towpath.settings import LockMode, Size, StoreConfig
from towpath.store import Store
from towpath.store.azure.azure import write_headers
from towpath.store.objects import ObjectLock, Put

pytestmark = pytest.mark.slow

DAY = 86_400_000
MIB = 1 << 20


def locking(buckets: Buckets, **more: Any) -> StoreConfig:
    """Return the config of a new bucket that has object lock."""
    wanted = {"lock": {"mode": "governance", "days": 3}, **more}
    config = buckets.config(f"locked-{random.getrandbits(40):x}", **wanted)
    client(config).create_bucket(Bucket=config.bucket, ObjectLockEnabledForBucket=True)
    return config


def until(config: StoreConfig, key: str) -> float:
    """Return for how many days an object is locked, as the store tells another program."""
    found = client(config).head_object(Bucket=config.bucket, Key=f"{config.prefix}/{key}")
    if "ObjectLockMode" not in found:
        return 0.0
    assert found["ObjectLockMode"] == "GOVERNANCE"
    left: float = (found["ObjectLockRetainUntilDate"] - datetime.now(UTC)).total_seconds()
    return left / 86_400


def test_what_is_to_be_kept_is_locked_and_nothing_else(buckets: Buckets) -> None:
    config = locking(buckets, part_size=Size.parse("5MiB"))
    with Store(config) as store:
        store.require_lock()
        store.put_new("entry", b"x", lock=True)
        with store.writer("large", lock=True) as writer:
            writer.write(bytes(11 * MIB))
        store.put_new("lease", b"x")
        assert [round(until(config, key)) for key in ("entry", "large", "lease")] == [3, 3, 0]
        with pytest.raises(ObjectExistsError):
            store.put_new("entry", b"y", lock=True)
        tag = store.head("lease").tag
        store.replace("lease", b"y", tag)
        store.delete(["lease"])
        with pytest.raises(StoreRefusedError, match="or wait until the lock of the object is over"):
            store.delete(["entry"])
        assert store.get("entry") == b"x"


def test_a_bucket_without_locks_is_refused_before_anything_is_written(buckets: Buckets) -> None:
    config = buckets.new(lock={"mode": "compliance", "days": 1})
    with Store(config) as store:
        with pytest.raises(StoreRefusedError) as caught:
            CommitLog.open_or_begin(store, REGION)
        assert "make a bucket with object lock" in str(caught.value)
        assert list(store.list()) == []
        with pytest.raises(StoreRefusedError, match="make a bucket with object lock"):
            store.put_new("entry", b"x", lock=True)


def test_a_login_that_may_not_ask_finds_out_by_the_first_object(
    buckets: Buckets, front: StoreFront
) -> None:
    config = front.before(locking(buckets))
    front.change = lambda _how, path, _: (403, "AccessDenied") if "object-lock" in path else None
    with Store(config) as store:
        store.require_lock()
        store.put_new("entry", b"x", lock=True)
    sent = front.headers("PUT", "entry")
    assert sent["x-amz-object-lock-mode"] == "GOVERNANCE"
    assert sent["x-amz-object-lock-retain-until-date"].startswith("20")


def test_azure_gets_a_policy_with_the_object() -> None:
    """Azurite knows no immutability, so only what is sent is looked at."""
    for mode, said in ((LockMode.GOVERNANCE, "unlocked"), (LockMode.COMPLIANCE, "locked")):
        at = now_ms() + DAY
        headers = write_headers(Put(only_new=True, lock=ObjectLock(mode, at)))
        assert headers["x-ms-immutability-policy-mode"] == said
        told = parsedate_to_datetime(headers["x-ms-immutability-policy-until-date"])
        assert told.timestamp() == at // 1000
        assert headers["x-ms-immutability-policy-until-date"].endswith(" GMT")
    assert "x-ms-immutability-policy-mode" not in write_headers(Put(only_new=True))


@pytest.mark.parametrize("url", ["file:///x", "gs://bucket/x"])
def test_stores_that_lock_nothing_are_refused_in_the_file(url: str) -> None:
    with pytest.raises(ValueError, match="s3:// and abfs:// alone"):
        StoreConfig.model_validate({"url": url, "lock": {"mode": "governance", "days": 1}})


class LockedArchive(MixedArchive):
    """An archive in a bucket that locks its objects."""

    kept: StoreConfig

    def config(self, **more: Any) -> ArchiveConfig:
        made = super().config(**more)
        return made.model_copy(update={"store": self.kept})


def locked_archive(folder: Path, buckets: Buckets) -> LockedArchive:
    made = LockedArchive(folder)
    made.kept = locking(buckets)
    return made


def test_nothing_is_swept_before_its_lock_is_over(
    tmp_path: Path, buckets: Buckets, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = locked_archive(tmp_path, buckets)
    records = old_records(60)
    for at in (0, 20, 40):
        archive.own(records, at, at + 20)
    stray = archive.own(records, 10, 30, commit=False)
    done = compacted(archive.config(), EAGER)
    assert (done.written, done.swept, done.waiting, done.orphans) == (1, 0, 3, 0)
    assert len(held_records(archive.store, archive.log.state, partition())) == 60
    merged = archive.log.state.segments(partition())[0].place
    assert merged is not None
    assert round(until(archive.kept, merged.key)) == 3
    newest = f"{REGION}/_log/{archive.log.state.version:020d}.json"
    assert round(until(archive.kept, newest)) == 3
    # When it is over, as for objects of three days ago, all of them go.
    monkeypatch.setattr("towpath.archive.upkeep.tidying.now_ms", lambda: now_ms() + 4 * DAY)
    monkeypatch.setattr("towpath.archive.log.readers.now_ms", lambda: now_ms() + 4 * DAY)
    assert stray.place is not None
    done = compacted(archive.config(), EAGER)
    assert (done.swept, done.waiting, done.orphans) == (3, 0, 1)
    assert [each.key for each in archive.store.list(f"{REGION}/orders")] == [merged.key]


def test_the_notes_say_what_locks_mean(tmp_path: Path, buckets: Buckets) -> None:
    archive = locked_archive(tmp_path, buckets)
    assert list(MixedArchive(tmp_path).config().notes()) == []
    config = archive.config(compaction=[{}], retention=[{"max_age": "1d"}, {"max_age": "30d"}])
    notes = " ".join(config.notes())
    assert "only a login with a right of its own can delete one before" in notes
    assert "the store holds it twice for that time" in notes
    assert "retention[0].max_age is shorter than the lock" in notes
    assert "retention[1]" not in notes
    assert "lifecycle rule delete noncurrent versions" in notes
