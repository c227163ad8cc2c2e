"""The contents of znodes as values: what Kafka writes is read, what it would not read is named."""

from __future__ import annotations

import json
from contextlib import suppress
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.kraft import znodes
from towpath.kraft.facts import digests
from towpath.kraft.zookeeper import forms
from towpath.kraft.zookeeper.forms import FormError
from towpath.model.acl import Operation, Pattern, Permission, Resource
from towpath.model.quota import Entity, EntityKind
from towpath.model.scram import Mechanism

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
NUMBERS = st.floats(allow_nan=False)


def sanitized(name: str) -> str:
    """Encode as `Sanitizer.java`: `URLEncoder` leaves these four and alphanumerics as they are."""
    return quote(name, safe="").replace("~", "%7E").replace("*", "%2A")


@given(NAMES)
def test_names_are_decoded_as_kafka_encodes_them(name: str) -> None:
    assert forms.name_of(sanitized(name)) == name


@pytest.mark.parametrize("znode", ["100%", "%zz", "%C3", "%ff"])
def test_a_name_that_encodes_nothing_is_named(znode: str) -> None:
    with pytest.raises(FormError, match="its name"):
        forms.name_of(znode)


def test_a_default_is_no_name_but_an_encoded_one_is() -> None:
    assert forms.entity(EntityKind.USER, "<default>") == Entity(EntityKind.USER, None)
    assert forms.entity(EntityKind.USER, "%3Cdefault%3E") == Entity(EntityKind.USER, "<default>")


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=10), max_size=5))
def test_properties_are_read_as_they_are_written(entries: dict[str, str]) -> None:
    written = json.dumps({"version": 1, "config": entries}).encode()
    assert forms.properties(written) == entries


def test_a_znode_without_entries_has_none() -> None:
    for data in (None, b"", b"{}", b'{"version":1,"config":{}}'):
        assert not forms.configs(data)
        assert not forms.quotas(data)
        assert not forms.credentials(data)


@given(NUMBERS)
def test_quotas_are_doubles(value: float) -> None:
    data = znodes.config(x=repr(value).replace("inf", "Infinity"))
    assert forms.quotas(data) == {"x": value}


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.0E6", 1e6), (" 5 ", 5.0), ("12.5d", 12.5), (".5", 0.5), ("9223372036854775807", 2.0**63)],
)
def test_quotas_are_read_as_java_reads_doubles(text: str, value: float) -> None:
    assert forms.quotas(znodes.config(x=text)) == {"x": value}


@pytest.mark.parametrize("text", ["", "1_000", "five", "NaN", "0x10", "1e"])
def test_a_quota_that_is_no_number_is_named_without_its_value(text: str) -> None:
    with pytest.raises(FormError, match="the quota 'x' is not a number"):
        forms.quotas(znodes.config(x=text))


def test_an_encoded_password_is_not_compared_and_a_plain_one_is_a_digest() -> None:
    key = "listener.name.tls.ssl.keystore.password"
    for encoded in ("encryptedPassword:Zm8=,salt:YQ==", "salt:YQ==,encryptedPassword:Zm8="):
        assert forms.configs(znodes.config(**{key: encoded})) == {key: digests.ENCODED}
    shown = forms.configs(znodes.config(**{key: "hunter2"}))
    assert shown == {key: digests.value_or_digest(key, "hunter2")}
    assert "hunter2" not in str(shown)


def test_a_credential_is_the_same_as_its_bytes_in_the_log() -> None:
    text = "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=8192"
    told = forms.credentials(znodes.config(**{"SCRAM-SHA-512": text, "producer_byte_rate": "1"}))
    assert told == {Mechanism.SHA_512: digests.scram(8192, b"salt", b"stored", b"server")}


@pytest.mark.parametrize(
    "text",
    [
        "salt=c2FsdA==,stored_key=c3RvcmVk,iterations=8192",
        "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=??,iterations=8192",
        "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=many",
        "hunter2",
    ],
)
def test_a_broken_credential_is_named_without_its_content(text: str) -> None:
    with pytest.raises(FormError) as raised:
        forms.credentials(znodes.config(**{"SCRAM-SHA-256": text}))
    assert "c3RvcmVk" not in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_acls_are_read_in_all_spellings() -> None:
    for spelling in ("DescribeConfigs", "DESCRIBECONFIGS", "describeconfigs"):
        data = znodes.acls(("User:CN=a,O=b:c", "ALLOW", spelling, "*"))
        (acl,) = forms.acls(data, Resource.TOPIC, "x", Pattern.LITERAL)
        assert (acl.operation, acl.permission) == (Operation.DESCRIBE_CONFIGS, Permission.ALLOW)
        assert acl.principal == "User:CN=a,O=b:c"


@pytest.mark.parametrize("operation", Operation)
def test_each_operation_has_the_name_that_kafka_gives_it(operation: Operation) -> None:
    data = znodes.acls(("User:a", "Deny", operation.kafka_name, "*"))
    (acl,) = forms.acls(data, Resource.TOPIC, "x", Pattern.LITERAL)
    assert acl.operation is operation


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (znodes.acls(("User:a", "Deny", "Fly", "*")), "the unknown operation 'Fly'"),
        (znodes.acls(("User:a", "Perhaps", "Read", "*")), "the unknown permission 'Perhaps'"),
        (znodes.acls(("alice", "Deny", "Read", "*")), "a principal without a type"),
        (b'{"version":2,"acls":[]}', "its version is 2, only 1 is known"),
        (b'{"version":1,"acls":[1]}', "`acls` is not a list of objects"),
        (b"[" * 100_000, "it holds no JSON"),
        (znodes.acls(("User:\ud800", "Deny", "Read", "*")), "half a character"),
    ],
)
def test_unknown_acls_are_named(data: bytes, why: str) -> None:
    with pytest.raises(FormError, match=why):
        forms.acls(data, Resource.TOPIC, "x", Pattern.LITERAL)


def test_resource_types_have_the_names_of_their_znodes() -> None:
    assert set(forms.RESOURCES) == {
        *("Topic", "Group", "Cluster", "TransactionalId", "DelegationToken", "User")
    }


def test_a_token_of_an_old_version_was_requested_by_its_owner() -> None:
    fields = {
        "version": 2,
        "owner": "User%3Aalice",
        "renewers": ["User%3Ab%2C", "User%3Aa"],
        "issueTimestamp": 1,
        "maxTimestamp": 3,
        "expiryTimestamp": 2,
    }
    told = forms.token(json.dumps(fields).encode())
    assert told == digests.token("User:alice", "User:alice", ["User:a", "User:b,"], (1, 2, 3))


def test_a_controller_before_kraft_has_no_epoch_there() -> None:
    assert forms.controller(b'{"version":1,"brokerid":4,"timestamp":"1"}') == (4, -1)


def test_half_a_character_in_a_secret_is_named() -> None:
    with pytest.raises(FormError, match="half a character"):
        forms.configs(znodes.config(**{"plugin.secret": "\udfff"}))
    assert forms.configs(znodes.config(x="\U0001f600")) == {"x": "\U0001f600"}


@given(st.binary(max_size=40))
def test_no_content_makes_another_error(data: bytes) -> None:
    for form in (
        *(forms.controller, forms.number, forms.migration, forms.cluster_id),
        *(forms.next_producer_id, forms.reassigned, forms.assignment, forms.configs),
        *(forms.quotas, forms.credentials, forms.token),
    ):
        with suppress(FormError):
            form(data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["version", "config", "acls", "partitions", "brokerid", "owner", "renewers"]
                ),
                inner,
                max_size=4,
            )
        ),
    )
)
def test_no_json_makes_another_error(fields: object) -> None:
    test_no_content_makes_another_error.hypothesis.inner_test(json.dumps(fields).encode())  # type: ignore[attr-defined]
