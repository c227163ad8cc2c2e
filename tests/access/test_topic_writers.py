"""Who may write topics, as brokers would judge it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.clusters.authorizer import may
from towpath.access.topic_writers import told_writers, writers_of
from towpath.cluster.admin.changes import Listing
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.errors import RefusedError

TOPICS = ["orders", "orders.new", "other"]
acls = st.lists(
    st.builds(
        Acl,
        resource=st.sampled_from([Resource.TOPIC, Resource.TOPIC, Resource.GROUP]),
        name=st.sampled_from(["orders", "orders.new", "o", EVERY]),
        pattern=st.sampled_from(Pattern),
        principal=st.sampled_from(["User:a", "User:b", "User:*"]),
        host=st.just(EVERY),
        operation=st.sampled_from([Operation.WRITE, Operation.ALL, Operation.READ]),
        permission=st.sampled_from(Permission),
    ),
    max_size=6,
)


@given(acls)
def test_they_are_those_whom_an_authorizer_lets_write(found: list[Acl]) -> None:
    """Whom `User:*` lets write is told as that."""
    told = writers_of(found, TOPICS)
    for who in ("User:a", "User:b"):
        for topic in TOPICS:
            lets = may(found, who, "h", Operation.WRITE, Resource.TOPIC, topic)
            named = topic in told.get(who, ()) or topic in told.get("User:*", ())
            assert not lets or named, (who, topic)
            assert lets or topic not in told.get(who, ()), (who, topic)


class Cluster:
    """What a cluster tells of its ACLs."""

    def __init__(self, told: Any) -> None:
        self.acls = self
        self._told = told

    def describe(self) -> Any:
        if isinstance(self._told, Exception):
            raise self._told
        return self._told


def sentences(told: Any, login: str = "link") -> list[str]:
    cluster: Any = Cluster(told)
    return [*told_writers(cluster, login, TOPICS)]


def write(who: str, name: str, pattern: Pattern = Pattern.LITERAL) -> Acl:
    return Acl(
        resource=Resource.TOPIC, name=name, pattern=pattern, principal=who, host=EVERY,
        operation=Operation.WRITE, permission=Permission.ALLOW,
    )  # fmt: skip


def test_the_link_itself_is_no_other_writer() -> None:
    rules = frozenset({write("User:link", EVERY), write("User:app", "orders", Pattern.PREFIXED)})
    app = "may write 2 mirror topics before they are promoted"
    assert sentences(Listing(rules)) == [f"User:app {app}: orders, orders.new"]
    unknown = sentences(Listing(rules), login="")
    assert unknown[0] == f"User:app {app}, if that is not the link itself: orders, orders.new"
    assert len(unknown) == 2


def test_it_is_said_where_anybody_may_and_where_nobody_knows() -> None:
    assert sentences(None) == [
        "the target has no authorizer: whoever reaches it may write the mirror topics before they"
        " are promoted"
    ]
    (unknown,) = sentences(RefusedError("target", "asking for the ACLs", 31, "DENIED", ""))
    assert unknown.startswith("who else may write the mirror topics before they are promoted is")
    cluster: Any = Cluster(None)
    assert [*told_writers(cluster, "link", [])] == []
