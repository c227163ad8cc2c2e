"""Clients of AWS's services share what costs CPU, and nothing of their logins."""

from __future__ import annotations

from typing import Any

import pytest

from towpath.model.secret import Secret
from towpath.settings import AwsKeys
from towpath.store.s3.aws import aws_client


def client(name: str) -> Any:
    keys = AwsKeys(access_key_id=name, secret_access_key=Secret(f"secret of {name}"))
    return aws_client("s3", keys=keys, profile=None, region=None, endpoint="http://127.0.0.1:9")


def key_in(made: Any) -> str:
    url: str = made.generate_presigned_url("get_object", {"Bucket": "b", "Key": "k"})
    return url


def test_the_description_of_a_service_is_read_once() -> None:
    one, other = client("one"), client("other")
    assert one.meta.service_model.metadata is other.meta.service_model.metadata
    assert "one" in key_in(one)
    assert "other" in key_in(other)


def test_each_client_looks_for_its_login_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", name)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        made = aws_client("s3", keys=None, profile=None, region=None, endpoint="http://127.0.0.1:9")
        assert name in key_in(made)
