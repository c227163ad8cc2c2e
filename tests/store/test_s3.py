"""S3: what requests hold, answers that are lost, and what a store may refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters.certificates import Vault
from tests.support.objects.answers import NO_TIME, Answer, has_no_bucket, passes
from tests.support.objects.buckets import Buckets, StoreFront, keys
from towpath.model.errors import (
    ObjectColdError,
    ObjectExistsError,
    ObjectMissingError,
    StoreAwayError,
    StoreFullError,
    StoreRefusedError,
)
from towpath.settings import Size, StoreConfig, Tls
from towpath.store import Store

pytestmark = pytest.mark.slow

MIB = 1 << 20
PARTS = Size.parse("5MiB")


def test_objects_are_written_as_the_file_says(buckets: Buckets, front: StoreFront) -> None:
    encryption = {"mode": "aws:kms", "kms_key": "arn:aws:kms:eu-west-1:1:key/1"}
    config = front.before(buckets.new(encryption=encryption, part_size=PARTS))
    with Store(config) as store:
        store.put_new("small", b"x", "STANDARD_IA")
        with store.writer("large", "GLACIER_IR") as writer:
            writer.write(bytes(6 * MIB))
    for path, chosen in (("small", "STANDARD_IA"), ("large?uploads", "GLACIER_IR")):
        sent = front.headers("PUT" if path == "small" else "POST", path)
        assert sent["x-amz-storage-class"] == chosen
        assert sent["x-amz-server-side-encryption"] == "aws:kms"
        assert sent["x-amz-server-side-encryption-aws-kms-key-id"] == encryption["kms_key"]
    assert front.headers("PUT", "small")["if-none-match"] == "*"
    assert front.headers("POST", "large?uploadId")["if-none-match"] == "*"
    checked = [seen for method, path, seen in front.seen if method == "PUT"]
    assert len(checked) == 3
    assert all("x-amz-checksum-crc32" in seen for seen in checked)
    # By http nothing else protects what a body says.
    assert {len(seen["x-amz-content-sha256"]) for seen in checked} == {64}


def test_an_object_whose_bytes_changed_in_the_store_is_told(buckets: Buckets) -> None:
    """Those who read parts of it have checksums of their own, by which they know what it is."""
    config = buckets.new()
    with Store(config) as store:
        store.put_new("small", b"as written")
        (buckets.folder_of(config) / "small").write_bytes(b"changed...")
        assert store.reader("small").read() == b"changed..."
        with pytest.raises(StoreRefusedError, match="do not match the checksum"):
            store.get("small")


def test_a_lost_answer_is_not_taken_for_another_writer(buckets: Buckets, front: StoreFront) -> None:
    config = front.before(buckets.new(part_size=PARTS))
    lost = {"PUT": 1, "complete": 1}

    def lose(method: str, path: str) -> bool:
        kind = "complete" if method == "POST" and "uploadId" in path else method
        lost[kind] = lost.get(kind, 0) - 1
        return lost[kind] == 0

    front.lost = lose
    with Store(config) as store:
        made = store.put_new("small", b"first")
        assert store.get("small") == b"first"
        lost["PUT"] = 1
        assert store.replace("small", b"second", made.tag).tag == store.head("small").tag
        with store.writer("large") as writer:
            writer.write(bytes(6 * MIB))
        assert store.head("large").size == 6 * MIB
        assert store.abort_uploads("", 0) == []
        lost["PUT"] = 1
        with pytest.raises(ObjectExistsError):
            store.put_new("small", b"first")  # the same bytes, and another write


def test_a_store_that_passes_over_conditions_is_refused(
    buckets: Buckets, front: StoreFront
) -> None:
    puts = iter([None])
    front.change = lambda method, _path, _headers: (
        next(puts, (200, "written")) if method == "PUT" else None
    )
    with Store(front.before(buckets.new())) as store:
        with pytest.raises(StoreRefusedError) as caught:
            store.require_conditions()
        assert list(store.list()) == []
    assert str(caught.value) == (
        f"{store.config.url}: try conditional writes: it replaced an object that was to be written"
        " only if there was none (If-None-Match); two writers could destroy an archive there; use"
        " another store, or a newer version"
    )


@pytest.mark.parametrize(
    "answer",
    [
        Answer(507, "InsufficientStorage", StoreFullError, "the store has no room left (as a test"),
        Answer(403, "QuotaExceeded", StoreFullError, "make room, or raise its quota"),
        Answer(403, "InvalidObjectState", ObjectColdError, "let it be thawed first"),
        Answer(403, "AccessDenied", StoreRefusedError, "give the login the rights s3:GetObject"),
        Answer(403, "RequestTimeTooSkewed", StoreRefusedError, "set the clock of this machine"),
        Answer(400, "ExpiredToken", StoreRefusedError, "renew the temporary keys"),
        Answer(501, "NotImplemented", StoreRefusedError, "use a store that knows If-None-Match"),
        Answer(405, "MethodNotAllowed", StoreRefusedError, "as a test wants it (MethodNotAllowed)"),
        Answer(
            503,
            "SlowDown",
            StoreAwayError,
            "no usable answer in time (as a test wants it (SlowDown",
        ),
        Answer(500, "InternalError", StoreAwayError, "look whether the store runs"),
        Answer(409, "ConditionalRequestConflict", StoreAwayError, "no usable answer in time"),
    ],
    ids=str,
)
def test_what_a_store_answers_is_an_error_for_people(
    buckets: Buckets, front: StoreFront, answer: Answer
) -> None:
    answer.is_told(front, buckets.new(**NO_TIME))


def test_what_may_pass_is_tried_again(buckets: Buckets, front: StoreFront) -> None:
    passes(
        front, buckets.new(), (503, "SlowDown"), (500, "InternalError"), (429, "TooManyRequests")
    )


@pytest.mark.parametrize("code", ["SlowDown", "InternalError", "ServiceUnavailable"])
def test_an_object_that_is_not_deleted_now_is_deleted_later(
    buckets: Buckets, front: StoreFront, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """The answer says 200, and has an error for some of the objects."""
    true, refused = front.upstream, 2
    error = f"<Error><Key>archive/two</Key><Code>{code}</Code><Message>later</Message></Error>"

    def partly(port: int, method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        nonlocal refused
        if method == "POST" and refused:
            refused -= 1
            return 200, {}, f"<DeleteResult>{error}</DeleteResult>".encode()
        return true(port, method, path, headers, body)

    with Store(front.before(buckets.new(timeout="10s"))) as store:
        for key in ("one", "two"):
            store.put(key, b"x")
        monkeypatch.setattr(front, "upstream", partly)
        store.delete(["one", "two"])
        assert (list(store.list()), refused) == ([], 0)


def test_a_full_store_keeps_no_part(buckets: Buckets, front: StoreFront) -> None:
    front.change = lambda _method, path, _headers: (
        (507, "InsufficientStorage") if "partNumber=2" in path else None
    )
    with Store(front.before(buckets.new(part_size=PARTS))) as store:
        writer = store.writer("large")
        writer.write(bytes(6 * MIB))
        with pytest.raises(StoreFullError):
            writer.close()
        assert store.abort_uploads("", 0) == []
        assert list(store.list()) == []


def test_who_may_only_read_writes_nothing(buckets: Buckets) -> None:
    config = buckets.new()
    with Store(config) as owner:
        owner.put_new("a", b"x")
    with Store(buckets.for_reader(config)) as store:
        assert store.get("a") == b"x"
        assert [each.key for each in store.list()] == ["a"]
        with pytest.raises(ObjectMissingError):
            store.get("none")
        with pytest.raises(StoreRefusedError):
            store.delete(["a"])
        writer = store.writer("c")
        with pytest.raises(StoreRefusedError):
            writer.write(bytes(9 * MIB))
        with pytest.raises(StoreRefusedError) as caught:
            store.put_new("b", b"x")
    assert "(AccessDenied); give the login the rights" in str(caught.value)
    with Store(config) as owner:
        assert [each.key for each in owner.list()] == ["a"]


def test_a_wrong_secret_and_a_missing_bucket_are_said(buckets: Buckets) -> None:
    config = buckets.new()
    wrong = config.model_copy(update={"keys": keys("towpath-tests", "hunter2-hunter2")})
    with Store(wrong) as store, pytest.raises(StoreRefusedError) as caught:
        store.get("a")
    assert "look at the secret under `store.keys`" in str(caught.value)
    assert "hunter2" not in f"{caught.value!r} {caught.value} {wrong!r}"
    has_no_bucket(buckets.config("no-such-bucket"))


def test_keys_come_from_the_environment_as_well(
    buckets: Buckets, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = buckets.new(keys=None)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    with Store(config) as store, pytest.raises(StoreRefusedError) as caught:
        store.put_new("a", b"x")
    assert "no AWS credentials were found; give `store.keys`" in str(caught.value)
    with (
        Store(config.model_copy(update={"profile": "backups"})) as store,
        pytest.raises(StoreRefusedError) as caught,
    ):
        store.put_new("a", b"x")
    assert "botocore: ProfileNotFound; look at the AWS configuration" in str(caught.value)
    (tmp_path / "credentials").write_text(
        "[backups]\naws_access_key_id = towpath-tests\naws_secret_access_key = secret-of-tests\n"
    )
    with Store(config.model_copy(update={"profile": "backups"})) as store:
        store.put_new("a", b"x")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "towpath-tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-tests")
    with Store(config) as store:
        assert store.get("a") == b"x"


def test_certificates_are_those_of_the_file(
    buckets_program: Path, vault: Vault, tmp_path: Path
) -> None:
    secured = Buckets(buckets_program, tmp_path / "secured", vault)
    try:
        config = secured.new(tls=Tls.model_validate({"ca": str(vault.ca)}))
        with Store(config) as store:
            store.put_new("a", b"x" * MIB)
            assert store.get("a") == b"x" * MIB
        _distrusts(config.model_copy(update={"tls": None}))
        _distrusts(
            config.model_copy(update={"tls": Tls.model_validate({"ca": str(vault.other_ca)})})
        )
    finally:
        secured.stop()


def _distrusts(config: StoreConfig) -> None:
    with Store(config) as store, pytest.raises(StoreRefusedError) as caught:
        store.get("a")
    assert "its certificate is not trusted: " in str(caught.value)
    assert "look at `store.tls` and `store.endpoint`" in str(caught.value)
