"""For any two clusters: what the steps leave behind needs no more of them."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tests.support.clusters.authorizer import may
from tests.support.session.examples import examples
from tests.support.subjects.access_worlds import World, differ, link, named
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.nouns import TopicName
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism

USERS = ("ann", "bob", "two words")
ACLS = st.builds(
    Acl,
    resource=st.sampled_from(Resource),
    name=st.sampled_from(["orders", "payments", "eu.orders", "o", "eu.", "audit", EVERY]),
    pattern=st.sampled_from(Pattern),
    principal=st.sampled_from(["User:ann", "User:*", "User:mirror"]),
    host=st.sampled_from([EVERY, "10.0.0.1"]),
    operation=st.sampled_from(Operation),
    permission=st.sampled_from(Permission),
)
CREDENTIALS = st.builds(Credential, st.sampled_from(USERS), st.sampled_from(Mechanism))
ENTITIES = st.one_of(
    st.builds(Entity, st.sampled_from(EntityKind), st.sampled_from([None, "a"])).map(
        lambda entity: (entity,)
    ),
    st.just((Entity(EntityKind.USER, None), Entity(EntityKind.CLIENT_ID, "a"))),
)
QUOTAS = st.builds(Quota, ENTITIES, st.sampled_from(QuotaKey))
WORLDS = st.builds(
    World,
    st.sets(ACLS, max_size=8),
    st.dictionaries(CREDENTIALS, st.sampled_from([2000, 4096, 8192, 20_000])),
    st.dictionaries(QUOTAS, st.sampled_from([1.0, 2.5])),
)


@given(
    source=WORLDS,
    target=WORLDS,
    mode=st.sampled_from(["safe", "full"]),
    rename=st.sampled_from(["{topic}", "eu.{topic}", "{topic}.eu"]),
    listed=st.sets(st.sampled_from((*USERS, "nobody"))),
    seen=st.sampled_from([("orders",), ("orders", "payments")]),
    prune=st.booleans(),
    data=st.data(),
)
def test_a_second_plan_is_empty(
    source: World,
    target: World,
    mode: str,
    rename: str,
    listed: set[str],
    seen: tuple[str, ...],
    prune: bool,
    data: st.DataObject,
) -> None:
    config = link(mode, listed, rename=rename, prune=prune)
    names = named(config, *seen)
    things = target.things
    ours = things and data.draw(st.sets(st.sampled_from(sorted(things))))
    first = differ(source, target, config, ours, names)
    owned = set(ours)
    for step in first.steps:
        target.do(step)
        thing = (step.subject, step.about)
        assert not step.creates or thing not in things
        owned = owned | {thing} if step.creates else owned & target.things
    assert len({(s.subject, s.about) for s in first.steps}) == len(first.steps)
    again = differ(source, target, config, owned, names)
    assert again.steps == ()
    assert again.problems == first.problems
    gone = things - target.things
    assert gone <= ours
    assert prune or not gone
    if mode == "safe":
        made = [s for s in first.steps if s.subject == "acls" and s.creates]
        assert not [s for s in made if s.about.startswith("allow") and " to write on " in s.about]


TOPICS = ("orders", "older", "old", "payments", "audit")
"""Of the source; `orders` and `payments` may be mirrored."""
ABOUT_NAMES = st.builds(
    Acl,
    resource=st.sampled_from([Resource.TOPIC, Resource.TOPIC, Resource.GROUP]),
    name=st.sampled_from([*TOPICS, "o", "ol", "p", "a", EVERY]),
    pattern=st.sampled_from(Pattern),
    principal=st.sampled_from(["User:ann", "User:*"]),
    host=st.sampled_from([EVERY, "10.0.0.1"]),
    operation=st.sampled_from([Operation.ALL, Operation.READ, Operation.WRITE, Operation.DESCRIBE]),
    permission=st.sampled_from(Permission),
)


@examples(3, soak=8)
@given(
    acls=st.sets(ABOUT_NAMES, max_size=6),
    mode=st.sampled_from(["safe", "full"]),
    rename=st.sampled_from(["{topic}", "eu.{topic}"]),
    seen=st.sampled_from([(), ("orders",), ("orders", "payments")]),
)
def test_nobody_may_do_more_on_the_target(
    acls: set[Acl], mode: str, rename: str, seen: tuple[str, ...]
) -> None:
    """Neither with a mirror topic nor with a topic that has the name of one, mirrored or not."""
    config = link(mode, rename=rename)
    names = {TopicName(name): config.topics.target_name(name) for name in seen}
    target = World()
    for step in differ(World(acls), World(), config, names=names).steps:
        target.do(step)
    for who, host, operation in product(
        ("User:ann", "User:bob"), ("10.0.0.1", "10.0.0.2"), Operation
    ):
        asked = who, host, operation
        for name in TOPICS:
            copy = config.topics.target_name(name)
            here, there = (
                may(acls, *asked, Resource.TOPIC, name),
                may(target.acls, *asked, Resource.TOPIC, copy),
            )
            assert here or not there, (*asked, name)
            assert may(acls, *asked, Resource.GROUP, name) or not may(
                target.acls, *asked, Resource.GROUP, name
            )
            if mode == "full" and name in seen:
                assert here == there
