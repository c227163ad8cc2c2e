"""Azure Blob Storage: logins, what requests hold, answers that are lost, what may be refused."""

from __future__ import annotations

import os
import random
import sys

import pytest

from tests.support.objects.answers import NO_TIME, Answer, has_no_bucket, passes
from tests.support.objects.azurite import ACCOUNT, KEY, AzureStore, sas
from tests.support.objects.buckets import StoreFront
from towpath.model.errors import (
    ExtraMissingError,
    ObjectColdError,
    ObjectExistsError,
    StoreAwayError,
    StoreRefusedError,
)
from towpath.model.secret import Secret
from towpath.settings import Size, StoreConfig
from towpath.store import Store
from towpath.store.azure.azure_login import signed_text

MIB = 1 << 20
PARTS = Size.parse("5MiB")


@pytest.mark.soak
def test_objects_are_written_as_the_file_says(azure: AzureStore, azure_front: StoreFront) -> None:
    with Store(azure_front.before(azure.new(part_size=PARTS))) as store:
        store.put_new("small", b"x", "Cool")
        with store.writer("large", "Cool") as writer:
            writer.write(bytes(11 * MIB))
        assert [store.head(key).storage_class for key in ("small", "large")] == ["Cool", "Cool"]
    sent = [(path, seen) for method, path, seen in azure_front.seen if method == "PUT"]
    assert all("content-md5" in seen for _, seen in sent)
    final = [seen for path, seen in sent if "comp=block&" not in path]
    assert [seen["if-none-match"] for seen in final] == ["*", "*"]


@pytest.mark.soak
def test_an_object_of_the_archive_tier_is_cold(azure: AzureStore) -> None:
    with Store(azure.new()) as store:
        store.put_new("cold", b"x", "Archive")
        assert store.head("cold").cold
        assert [each.cold for each in store.list()] == [True]
        with pytest.raises(ObjectColdError):
            store.get("cold")


@pytest.mark.soak
def test_a_lost_answer_is_not_taken_for_another_writer(
    azure: AzureStore, azure_front: StoreFront
) -> None:
    data = random.Random(1).randbytes(11 * MIB)
    lost = {"blocklist": 0, "comp=block&": 0, "PUT ": 1}

    def lose(method: str, path: str) -> bool:
        for kind, left in lost.items():
            if kind in f"{method} {path}":
                lost[kind] = left - 1
                return left == 1
        return False

    azure_front.lost = lose
    with Store(azure_front.before(azure.new(part_size=PARTS))) as store:
        made = store.put_new("small", b"first")
        assert store.get("small") == b"first"
        lost["PUT "] = 1
        assert store.replace("small", b"second", made.tag).tag == store.head("small").tag
        for kind in ("blocklist", "comp=block&"):
            lost[kind] = 1
            with store.writer(f"large-{kind[:6]}") as writer:
                writer.write(data)
            assert store.get_whole(f"large-{kind[:6]}") == data
        lost["PUT "] = 1
        with pytest.raises(ObjectExistsError):
            store.put_new("small", b"first")  # the same bytes, and another write


@pytest.mark.soak
def test_writers_of_one_object_do_not_mix_their_parts(azure: AzureStore) -> None:
    with Store(azure.new(part_size=PARTS)) as store:
        writers = [store.writer("contested") for _ in range(3)]
        for number, writer in enumerate(writers):
            writer.write(bytes([number]) * 11 * MIB)
        writers[1].close()
        for writer in (writers[0], writers[2]):
            with pytest.raises(ObjectExistsError):
                writer.close()
        assert store.get_whole("contested") == b"\1" * 11 * MIB


@pytest.mark.soak
@pytest.mark.parametrize(
    "answer",
    [
        Answer(
            403,
            "AuthorizationPermissionMismatch",
            StoreRefusedError,
            "Storage Blob Data Contributor",
        ),
        Answer(403, "AuthenticationFailed", StoreRefusedError, "whether a SAS has expired"),
        Answer(409, "BlobArchived", ObjectColdError, "let it be thawed first"),
        Answer(
            409, "BlobImmutableDueToPolicy", StoreRefusedError, "let no policy of the container"
        ),
        Answer(400, "InvalidHeaderValue", StoreRefusedError, "it answered InvalidHeaderValue"),
        Answer(
            503, "ServerBusy", StoreAwayError, "no usable answer in time (it answered ServerBusy)"
        ),
        Answer(500, "OperationTimedOut", StoreAwayError, "look whether the store runs"),
        Answer(429, "TooManyRequests", StoreAwayError, "no usable answer in time"),
    ],
    ids=str,
)
def test_what_a_store_answers_is_an_error_for_people(
    azure: AzureStore, azure_front: StoreFront, answer: Answer
) -> None:
    answer.is_told(azure_front, azure.new(**NO_TIME))


@pytest.mark.soak
def test_what_may_pass_is_tried_again(azure: AzureStore, azure_front: StoreFront) -> None:
    passes(
        azure_front,
        azure.new(),
        (503, "ServerBusy"),
        (500, "InternalError"),
        (429, "TooManyRequests"),
    )


@pytest.mark.soak
def test_a_shared_access_signature_has_its_rights_alone(azure: AzureStore) -> None:
    config = azure.new()
    with Store(config) as owner:
        owner.put_new("a", b"x")
    whole, reads = (sas(config.bucket, rights) for rights in ("racwdl", "rl"))
    with Store(azure.config(config.bucket, azure={"sas": whole})) as store:
        store.put_new("b", b"y")
        assert [each.key for each in store.list()] == ["a", "b"]
        store.delete(["b"])
    with Store(azure.config(config.bucket, azure={"sas": reads})) as store:
        assert store.get("a") == b"x"
        with pytest.raises(StoreRefusedError) as caught:
            store.put_new("b", b"y")
    assert "give the login the role Storage Blob Data Contributor" in str(caught.value)
    expired = sas(config.bucket, "racwdl", hours=-1)
    with (
        Store(azure.config(config.bucket, azure={"sas": expired})) as store,
        pytest.raises(StoreRefusedError) as caught,
    ):
        store.get("a")
    assert expired.reveal() not in f"{caught.value!r} {caught.value} {store.config!r}"


@pytest.mark.soak
def test_a_connection_string_has_all_that_is_needed(azure: AzureStore) -> None:
    text = f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={azure.url}/;"
    config = azure.new(azure={"connection_string": Secret(text)}, endpoint=None)
    with Store(config) as store:
        store.put_new("a", b"x")
        assert store.get("a") == b"x"


@pytest.mark.soak
def test_a_wrong_key_and_a_missing_container_are_said(azure: AzureStore) -> None:
    wrong = Secret("aHVudGVyMi1odW50ZXIyLWh1bnRlcjI=")
    with (
        Store(azure.new(azure={"account_key": wrong})) as store,
        pytest.raises(StoreRefusedError) as caught,
    ):
        store.get("a")
    assert wrong.reveal() not in f"{caught.value!r} {caught.value} {store.config!r}"
    has_no_bucket(azure.config("no-such-container"), "container")


def test_a_key_that_is_none_is_not_repeated() -> None:
    given = {"url": "abfs://c@a", "azure": {"account_key": Secret("hunter2")}}
    with (
        Store(StoreConfig.model_validate(given)) as store,
        pytest.raises(StoreRefusedError) as caught,
    ):
        store.get("a")
    assert str(caught.value) == (
        "abfs://c@a.dfs.core.windows.net: log in: the key of the account is not base64; look at"
        " `store.azure`"
    )


def test_a_missing_library_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with (
        Store(StoreConfig.model_validate({"url": "abfs://c@a"})) as store,
        pytest.raises(ExtraMissingError) as caught,
    ):
        store.get("a")
    assert str(caught.value) == (
        "abfs://c@a.dfs.core.windows.net needs azure-identity, which is not installed: pip install"
        " 'towpath[azure]', or give a key or a SAS under `store.azure`"
    )


def test_a_machine_without_an_identity_is_told_what_helps(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in [each for each in os.environ if each.startswith(("AZURE_", "IDENTITY_", "MSI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    with (
        Store(StoreConfig.model_validate({"url": "abfs://c@a"})) as store,
        pytest.raises(StoreRefusedError) as caught,
    ):
        store.get("a")
    assert "no identity of Azure could be used; give a key, a SAS or a connection string" in str(
        caught.value
    )
    assert capfd.readouterr().err == ""


def test_what_is_signed_is_what_azure_documents() -> None:
    """The request and the text are those of REST, "Authorize with Shared Key"."""
    headers = {"x-ms-date": "Fri, 26 Jun 2015 23:39:12 GMT", "x-ms-version": "2015-02-21"}
    url = (
        "https://myaccount.blob.core.windows.net/mycontainer?comp=metadata&restype=container"
        "&timeout=20"
    )
    assert signed_text("myaccount", "GET", url, {**headers, "content-length": "0"}) == (
        "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
        "x-ms-version:2015-02-21\n/myaccount/mycontainer\ncomp:metadata\nrestype:container\n"
        "timeout:20"
    )
