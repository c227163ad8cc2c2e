"""The nouns of access in words, which must tell each thing from every other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.quoting import quoted
from towpath.model.scram import Credential, Mechanism

# Made of what the sentences themselves are made of, so that two could look alike.
NAMES = st.lists(
    st.sampled_from(["User:a", " ", "to read", "on topic", "from", '"', "\\", "\n", "*", "é", "b"]),
    min_size=1,
    max_size=4,
).map("".join)
ACLS = st.builds(
    Acl,
    resource=st.sampled_from(Resource),
    name=NAMES,
    pattern=st.sampled_from(Pattern),
    principal=NAMES,
    host=NAMES,
    operation=st.sampled_from(Operation),
    permission=st.sampled_from(Permission),
)
ENTITIES = st.builds(Entity, st.sampled_from(EntityKind), st.none() | NAMES)
QUOTAS = st.builds(
    Quota, st.lists(ENTITIES, min_size=1, max_size=2).map(tuple), st.sampled_from(QuotaKey)
)


@given(ACLS, ACLS)
def test_two_acls_are_never_written_alike(one: Acl, other: Acl) -> None:
    assert (str(one) == str(other)) == (one == other)
    assert str(one).isprintable()


@given(QUOTAS, QUOTAS)
def test_two_quotas_are_never_written_alike(one: Quota, other: Quota) -> None:
    assert (str(one) == str(other)) == (one == other)


@given(st.text(), st.text())
def test_two_names_are_never_written_alike(one: str, other: str) -> None:
    assert (quoted(one) == quoted(other)) == (one == other)


def test_they_read_as_sentences() -> None:
    denied = Acl(
        resource=Resource.TRANSACTIONAL_ID,
        name="pay ments",
        pattern=Pattern.PREFIXED,
        principal="User:ann",
        host="10.0.0.1",
        operation=Operation.TWO_PHASE_COMMIT,
        permission=Permission.DENY,
    )
    assert str(denied) == (
        'deny User:ann from 10.0.0.1 to two phase commit on prefixed transactional id "pay ments"'
    )
    every = Acl(
        resource=Resource.TOPIC,
        name=EVERY,
        pattern=Pattern.LITERAL,
        principal="User:*",
        host=EVERY,
        operation=Operation.READ,
        permission=Permission.ALLOW,
    )
    assert str(every) == "allow User:* to read on topic *"
    assert Operation.DESCRIBE_CONFIGS.kafka_name == "DescribeConfigs"
    both = (Entity(EntityKind.USER, "ann"), Entity(EntityKind.CLIENT_ID, None))
    quota = Quota(both, QuotaKey.REQUEST_PERCENTAGE)
    assert str(quota) == "user ann with default client-id: request_percentage"
    assert str(Credential("ann", Mechanism.SHA_512)) == "ann (SCRAM-SHA-512)"
