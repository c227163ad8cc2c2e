"""Google Cloud Storage: what requests hold, answers that are lost, and what may be refused."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.objects.answers import NO_TIME, Answer, has_no_bucket
from tests.support.objects.google import GoogleFront, GoogleStore
from towpath.model.errors import (
    ExtraMissingError,
    ObjectExistsError,
    StoreAwayError,
    StoreRefusedError,
)
from towpath.model.secret import Secret
from towpath.settings import Size, StoreConfig
from towpath.store import Store

MIB = 1 << 20
PARTS = Size.parse("5MiB")


@pytest.mark.soak
def test_objects_are_written_as_the_file_says(
    google: GoogleStore, google_front: GoogleFront
) -> None:
    config = google_front.before(google.new(part_size=PARTS))
    with Store(config) as store:
        store.put_new("small", b"x", "NEARLINE")
        with store.writer("large", "COLDLINE") as writer:
            writer.write(bytes(11 * MIB))
        classes = [store.head(key).storage_class for key in ("small", "large")]
    assert classes == ["NEARLINE", "COLDLINE"]
    begun = [(path, seen) for method, path, seen in google_front.seen if method == "POST"]
    assert all("ifGenerationMatch=0" in path for path, _ in begun)
    assert all(seen["authorization"].startswith("Bearer token-") for _, seen in begun)
    sent = [seen for method, _, seen in google_front.seen if method == "PUT"]
    assert all("authorization" not in seen for seen in sent)
    assert sent[-1]["content-range"] == f"bytes {11 * MIB - (256 << 10)}-{11 * MIB - 1}/{11 * MIB}"
    assert sent[-1]["x-goog-hash"].startswith("crc32c=")


@pytest.mark.soak
@pytest.mark.parametrize("size", ["5MiB", "5300001B"])
def test_a_lost_answer_is_not_taken_for_another_writer(
    google: GoogleStore, google_front: GoogleFront, size: str
) -> None:
    config = google_front.before(google.new(part_size=Size.parse(size)))
    data = random.Random(1).randbytes(17 * MIB)
    lost = {"uploadType=multipart": 1, "PUT ": 0}

    def lose(method: str, path: str) -> bool:
        for kind, left in lost.items():
            if kind in f"{method} {path}":
                lost[kind] = left - 1
                return left == 1
        return False

    google_front.lost = lose
    with Store(config) as store:
        made = store.put_new("small", b"first")
        assert store.get("small") == b"first"
        lost["uploadType=multipart"] = 1
        assert store.replace("small", b"second", made.tag).tag == store.head("small").tag
        for number in range(1, 5):  # of the requests with parts, and the one that makes the object
            lost["PUT "] = number
            with store.writer(f"large-{number}") as writer:
                writer.write(data)
            assert google_front.asked == number
            assert store.get_whole(f"large-{number}") == data
        lost["uploadType=multipart"] = 1
        with pytest.raises(ObjectExistsError):
            store.put_new("small", b"first")  # the same bytes, and another write


@pytest.mark.soak
@pytest.mark.parametrize(
    "answer",
    [
        Answer(403, "forbidden", StoreRefusedError, "(forbidden); give the login the role"),
        Answer(401, "authError", StoreRefusedError, "look at `store.service_account`, or at the"),
        Answer(
            403, "retentionPolicyNotMet", StoreRefusedError, "let no retention policy of the bucket"
        ),
        Answer(400, "invalid", StoreRefusedError, "as a test wants it (invalid)"),
        Answer(
            403, "rateLimitExceeded", StoreAwayError, "no usable answer in time (as a test wants"
        ),
        Answer(429, "rateLimitExceeded", StoreAwayError, "look whether the store runs"),
        Answer(503, "backendError", StoreAwayError, "no usable answer in time"),
    ],
    ids=str,
)
def test_what_a_store_answers_is_an_error_for_people(
    google: GoogleStore, google_front: GoogleFront, answer: Answer
) -> None:
    answer.is_told(google_front, google.new(**NO_TIME))


@pytest.mark.soak
def test_what_may_pass_is_tried_again(google: GoogleStore, google_front: GoogleFront) -> None:
    data = bytes(11 * MIB)
    with Store(google_front.before(google.new(part_size=PARTS))) as store:
        for wanted in ("POST", "PUT", "GET"):
            answers = iter([(503, "backendError"), (500, "backendError"), (429, "rateLimit")])

            def change(
                method: str, _path: str, headers: Mapping[str, str], wanted: str = wanted
            ) -> tuple[int, str] | None:
                is_asked = method == wanted and headers.get("content-range") != "bytes */*"
                return next(answers, None) if is_asked else None  # noqa: B023 - used in this turn

            google_front.change = change
            with store.writer(f"after-{wanted}") as writer:
                writer.write(data)
            assert store.get(f"after-{wanted}") == data
            assert next(answers, None) is None


@pytest.mark.soak
def test_bytes_that_came_otherwise_are_deleted(
    google: GoogleStore, google_front: GoogleFront
) -> None:
    with Store(google_front.before(google.new(part_size=PARTS))) as store:
        writer = store.writer("large")
        writer.write(bytes(6 * MIB))
        google_front.spoils = True
        with pytest.raises(StoreRefusedError) as caught:
            writer.close()
        assert list(store.list()) == []
    assert "the store got other bytes than were sent" in str(caught.value)


@pytest.mark.soak
def test_a_store_that_passes_over_conditions_is_refused(
    google: GoogleStore, google_front: GoogleFront
) -> None:
    google_front.forgets = True
    with Store(google_front.before(google.new())) as store:
        with pytest.raises(StoreRefusedError) as caught:
            store.require_conditions()
        assert list(store.list()) == []
    assert "only if there was none (ifGenerationMatch); two writers" in str(caught.value)


@pytest.mark.soak
def test_a_refused_login_and_a_missing_bucket_are_said(google: GoogleStore) -> None:
    has_no_bucket(google.config("no-such-bucket"))
    google.desk.refuses = True
    try:
        with Store(google.new()) as store, pytest.raises(StoreRefusedError) as caught:
            store.get("a")
    finally:
        google.desk.refuses = False
    assert "look whether the service account and its key are still valid" in str(caught.value)
    assert "PRIVATE" not in f"{caught.value!r} {caught.value} {store.config!r}"


@pytest.mark.soak
def test_credentials_come_from_the_environment_as_well(
    google: GoogleStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = google.new(service_account=None)
    (tmp_path / "key.json").write_text(google.desk.account().reveal())
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    given = google.desk.given
    with Store(config) as store:
        for number in range(3):
            store.put_new(f"{number}", b"x")
    assert google.desk.given == given + 1
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    with Store(config) as store, pytest.raises(StoreRefusedError) as caught:
        store.get("0")
    assert "no usable Google credentials were found; give `store.service_account`" in str(
        caught.value
    )


@pytest.mark.parametrize("key", ["hunter2", '["hunter2"]', '{"private_key": "hunter2"}'])
def test_a_key_that_is_none_is_not_repeated(key: str) -> None:
    given = {"url": "gs://b", "service_account": Secret(key)}
    with (
        Store(StoreConfig.model_validate(given)) as store,
        pytest.raises(StoreRefusedError) as caught,
    ):
        store.get("a")
    assert str(caught.value) == (
        "gs://b: log in: it is not the JSON key of a service account; look at"
        " `store.service_account`"
    )


def test_a_missing_library_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("towpath.store.gcs.gcs")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "google.auth", None)
    with (
        Store(StoreConfig.model_validate({"url": "gs://b"})) as store,
        pytest.raises(ExtraMissingError) as caught,
    ):
        store.get("a")
    assert str(caught.value) == (
        "gs://b needs google-auth, which is not installed: pip install 'towpath[gcs]'"
    )
