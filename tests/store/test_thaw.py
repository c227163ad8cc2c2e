"""Cold objects: which a restore reads, and the request to thaw them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.stored import StoredArchive, old_records
from tests.support.objects.azurite import KEY, AzureStore
from tests.support.objects.buckets import Buckets, StoreFront
from towpath.cli.main import main
from towpath.model.errors import ObjectColdError, StoreRefusedError
from towpath.store import Store, StoredObject, ThawSpeed


def cold(storage_class: str = "GLACIER") -> StoredObject:
    return StoredObject(
        key="a", size=1, tag="t", modified=0, storage_class=storage_class, cold=True
    )


def test_s3_is_asked_for_days_and_speed(buckets: Buckets, front: StoreFront) -> None:
    """What is asked, not what S3 does: the store of these tests thaws nothing."""
    answers = iter([(202, ""), (202, ""), (409, "RestoreAlreadyInProgress"), (403, "AccessDenied")])
    front.change = lambda _method, path, _headers: next(answers) if "restore" in path else None
    with Store(front.before(buckets.new())) as store:
        for each in (cold(), cold("INTELLIGENT_TIERING"), cold()):
            store.thaw(each, 7, ThawSpeed.BULK)
        with pytest.raises(StoreRefusedError) as caught:
            store.thaw(cold(), 7, ThawSpeed.STANDARD)
    assert "(AccessDenied); give the login the right s3:RestoreObject" in str(caught.value)
    asked = [body for method, path, body in front.bodies if "restore" in path]
    tier = "<GlacierJobParameters><Tier>Bulk</Tier></GlacierJobParameters>"
    assert tier in asked[0]
    assert "<Days>7</Days>" in asked[0]
    assert tier in asked[1]
    assert "<Days>" not in asked[1]
    assert "<Tier>Standard</Tier>" in asked[3]


@pytest.mark.soak
def test_what_a_restore_reads_is_thawed(
    azure: AzureStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = azure.new()
    monkeypatch.setenv("AZURE_KEY", KEY)
    place = {
        "url": config.url,
        "endpoint": config.endpoint,
        "azure": {"account_key": "env:AZURE_KEY"},
    }
    stored = StoredArchive(tmp_path, "shop", "127.0.0.1:1", {"store": place})
    stored.describe("orders")
    segments = stored.put("orders", old_records(20, 5), cuts=[9, 14])
    file = stored.file()
    keys = [each.place.key for each in segments if each.place]
    with stored.store as store:
        assert thawed(capsys, file)["readable"] == 3
        for key in keys[:2]:
            store.put(key, store.get(key), "Archive")
        found = thawed(capsys, file)
        assert (found["readable"], found["requested"]) == (1, False)
        [cold] = found["cold"]
        assert (cold["storage_class"], cold["objects"], cold["thawing"]) == ("Archive", 2, 0)
        with pytest.raises(ObjectColdError):
            store.get(keys[0])
        found = thawed(capsys, file, "--yes", "--days", "3", "--tier", "standard")
        assert (found["requested"], found["failed"]) == (True, {})
        left = [store.head(key) for key in keys]
        assert all(each.thawing or not each.cold for each in left)
        if not any(each.cold for each in left):  # Azurite takes no time for it
            assert thawed(capsys, file)["readable"] == 3
            assert store.get(keys[0])


def thawed(capsys: pytest.CaptureFixture[str], file: Path, *options: str) -> dict[str, Any]:
    assert main(["restore", "thaw", str(file), "--output", "json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found
