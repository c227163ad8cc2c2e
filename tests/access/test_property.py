"""For any two clusters: what the steps leave behind needs no more of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.access.worlds import World, differ, link, named
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism

USERS = ("ann", "bob", "two words")
ACLS = st.builds(
    Acl,
    st.sampled_from(Resource),
    st.sampled_from(["orders", "payments", "eu.orders", "o", "eu.", "audit", EVERY]),
    st.sampled_from(Pattern),
    st.sampled_from(["User:ann", "User:*", "User:mirror"]),
    st.sampled_from([EVERY, "10.0.0.1"]),
    st.sampled_from(Operation),
    st.sampled_from(Permission),
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
    assert again.obstacles == first.obstacles
    gone = things - target.things
    assert gone <= ours
    assert prune or not gone
    if mode == "safe":
        made = [s for s in first.steps if s.subject == "acls" and s.creates]
        assert not [s for s in made if s.about.startswith("allow") and " to write on " in s.about]
