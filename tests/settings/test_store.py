"""The section `store` of a file."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from towpath.settings import Duration, StoreConfig, StoreKind
from towpath.settings.problems import faults_of


def read(folder: Path = Path("/data"), **fields: Any) -> StoreConfig:
    return StoreConfig.model_validate(fields, context={"folder": folder})


def problem(**fields: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        read(**fields)
    assert "hunter2" not in str(caught.value)
    ((_, fault),) = faults_of(caught.value, StoreConfig)
    return f"{'.'.join(map(str, fault.place))}: {fault.text}"


@pytest.mark.parametrize(
    ("url", "kind", "bucket", "prefix"),
    [
        ("s3://bucket", StoreKind.S3, "bucket", ""),
        ("s3://my.bucket-1/a/b%20c/", StoreKind.S3, "my.bucket-1", "a/b%20c"),
        ("gs://bucket.example.com/a/b/", StoreKind.GOOGLE, "bucket.example.com", "a/b"),
        ("abfs://c@acc.dfs.core.windows.net/a/b", StoreKind.AZURE, "c", "a/b"),
        ("abfss://c@acc/a", StoreKind.AZURE, "c", "a"),
        ("file:///srv/my%20archive/", StoreKind.FILES, "", "/srv/my archive"),
        ("file://localhost/srv/archive", StoreKind.FILES, "", "/srv/archive"),
        ("file:archive", StoreKind.FILES, "", "/data/archive"),
    ],
)
def test_a_url_says_what_where_is(url: str, kind: StoreKind, bucket: str, prefix: str) -> None:
    config = read(url=url)
    assert (config.kind, config.bucket, config.prefix) == (kind, bucket, prefix)
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 - ours
    assert not config.holds_credentials
    assert read(url=config.url) == config


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("bucket/a", "'bucket/a' is not a URL such as s3://bucket/prefix, gs://bucket/prefix"),
        ("http://bucket/a", "'http://bucket/a' is not a URL such as s3://bucket/prefix, "),
        ("s3:///a", "'s3:///a' is not a URL such as"),
        ("s3://bucket/a?b", "has a part behind ? or # in it; write the URL without that"),
        ("s3://me@bucket/a", "'s3://me@bucket/a' is not a URL such as"),
        ("s3://me:hunter2@bucket/a", "has a password in it; give the login in keys of its own"),
        ("file://host/a", "'file://host/a' names a host; write file:///path, or file:path"),
        ("file:", "names no folder"),
        ("abfs://acc/a", "'abfs://acc/a' is not a URL such as abfs://container@account/prefix"),
        ("s3://[a/b", "is not a URL such as"),
    ],
)
def test_other_texts_are_no_urls(url: str, told: str) -> None:
    assert problem(url=url).startswith(f"url: {told}")


@pytest.mark.parametrize("key", ["url", "endpoint"])
@pytest.mark.parametrize("scheme", ["s3", "https", "file", "ftp"])
@pytest.mark.parametrize("rest", ["?X-Amz-Signature=hunter2", "#hunter2", "/?a=b&token=hunter2"])
def test_a_signature_in_a_url_is_not_repeated(key: str, scheme: str, rest: str) -> None:
    wrong = {"url": "s3://b"} | {key: f"{scheme}://bucket/a{rest}"}
    assert "hunter2" not in problem(**wrong)


def test_what_is_not_used_is_refused() -> None:
    keys = {"access_key_id": "a", "secret_access_key": "env:HOME"}
    files, s3 = "file:///a", "s3://b"
    assert problem(url=files, region="eu") == "region: is not used with file://"
    assert problem(url=files, endpoint="http://a:1") == "endpoint: is not used with file://"
    assert problem(url=files, storage_class="X") == "storage_class: is not used with file://"
    assert problem(url="gs://a", keys=keys) == "keys: is not used with gs://"
    assert problem(url=s3, service_account="env:HOME") == "service_account: is not used with s3://"
    both = {"account_key": "env:HOME", "sas": "env:HOME"}
    assert (
        problem(url="abfs://c@a", azure=both) == "azure.sas: give only one of account_key and sas"
    )
    assert problem(url=s3, azure={}) == "azure: is not used with s3://"
    assert problem(url=s3, keys=keys, profile="a") == "profile: give only one of keys and profile"
    kms = {"mode": "AES256", "kms_key": "a"}
    assert problem(url=s3, encryption=kms) == (
        "encryption.kms_key: is only used with the modes aws:kms and aws:kms:dsse"
    )
    assert problem(url=s3, endpoint="http://a:1", tls=True) == (
        "endpoint: must begin with https: where tls is given"
    )
    assert problem(url=s3, endpoint="http://me:hunter2@a") == (
        "endpoint: has a login in it; give the login under `keys`"
    )
    assert problem(url=s3, endpoint="a:1").startswith("endpoint: 'a:1' is not a URL such as https:")


def test_a_secret_is_never_written_into_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"access_key_id": "a", "secret_access_key": "hunter2"}
    assert problem(url="s3://b", keys=keys).startswith("keys.secret_access_key: a secret is never")
    assert problem(url="gs://b", service_account="hunter2").startswith("service_account: a secret")
    monkeypatch.setenv("KEY", "hunter2")
    assert read(url="gs://b", service_account="env:KEY").holds_credentials
    config = read(url="s3://b", keys={**keys, "secret_access_key": "env:KEY"})
    assert config.holds_credentials
    assert "hunter2" not in f"{config!r} {config} {config.model_dump()} {config.model_dump_json()}"


def test_levels_have_storage_classes() -> None:
    assert read(url="s3://b").class_of(3) == ""
    assert read(url="s3://b", storage_class="GLACIER_IR").class_of(3) == "GLACIER_IR"
    config = read(url="s3://b", storage_class=["STANDARD", "STANDARD_IA"])
    assert [config.class_of(level) for level in range(3)] == ["STANDARD", *["STANDARD_IA"] * 2]


def test_a_store_has_defaults_for_time_and_parts() -> None:
    config = read(url="s3://b")
    assert (config.timeout, config.request_timeout) == (Duration.parse("2m"), Duration.parse("30s"))
    assert (str(config.part_size), config.spread) == ("8MiB", False)
