"""Steps that are done together on real clusters: refused, killed, and beside another process."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.support.clusters.certificates import Vault
from tests.support.kafka import wait_until
from tests.support.subjects.access_sides import clear
from tests.support.subjects.access_sides import link as link_of
from towpath.access.apply import apply as make_access
from towpath.access.owned import ours_of as access_ours
from towpath.access.steps import CreateAcl, SetQuota, SetUser
from towpath.cluster.admin import Admin
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Answers
from towpath.dev.broker import LocalCluster
from towpath.ledger.ledger import Ledger
from towpath.ledger.link import OpenLink, open_link
from towpath.mirror.plan.link_plan import build
from towpath.mirror.subjects import SUBJECTS
from towpath.model.acl import EVERY, Acl, Operation, Pattern, Permission, Resource
from towpath.model.errors import RefusedError, StepHeldBackError, TowpathError, UnreachableError
from towpath.model.nouns import Side, TopicName
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.plan import kinds as step_kinds
from towpath.plan.applier import Applied, Applier
from towpath.plan.journal import JournalWriter, failures
from towpath.plan.kinds import Step
from towpath.plan.model import Plan
from towpath.plan.subjects import SubjectClients
from towpath.settings import LinkConfig
from towpath.topics.apply import apply as make_topic
from towpath.topics.owned import ours_of as topics_ours
from towpath.topics.steps import AddPartitions, CreateTopic, SetConfigs

pytestmark = pytest.mark.broker

NewName = Callable[[str], str]
PASSWORD = Secret("a long one")


@dataclass
class Both:
    """A link between two clusters with ACLs, over the topics and users that begin with its name."""

    config: LinkConfig
    source: Admin
    target: Admin
    name: str

    def acl(self, name: str, permission: Permission = Permission.ALLOW, who: str = "") -> Acl:
        return Acl(
            resource=Resource.TOPIC,
            name=f"{self.name}{name}",
            pattern=Pattern.PREFIXED,
            principal=f"User:{who or self.name}",
            host=EVERY,
            operation=Operation.READ,
            permission=permission,
        )

    def topic(self, name: str) -> TopicName:
        return TopicName(f"{self.name}.{name}")

    def plan(self) -> Plan:
        """Return a plan of what this test made alone: others use these clusters, too."""
        plan = build(self.config)
        return replace(plan, steps=tuple(s for s in plan.steps if self.name in s.about))

    def mine(self, admin: Admin) -> set[str]:
        """Return all that a cluster has of this test."""
        listing = admin.acls.describe()
        assert listing is not None
        found = [
            *admin.topics.describe(),
            *listing.known,
            *admin.quotas.describe().known,
            *admin.users.describe(),
        ]
        return {str(each) for each in found if self.name in str(each)}


@pytest.fixture
def both(
    secured_source: LocalCluster, secured_target: LocalCluster, vault: Vault, new_name: NewName
) -> Iterator[Both]:
    name = new_name("together") + "-x"
    config = link_of(
        secured_source, secured_target, vault,
        link=name, topics={"include": [f"{name}.*"]}, users={name: PASSWORD},
    )  # fmt: skip
    with Admin(config.source, Side.SOURCE) as one, Admin(config.target, Side.TARGET) as other:
        made = Both(config, one, other, name)
        yield made
        for each in (one, other):
            clear(each, name)


@dataclass
class Process:
    """What one process of the link has in hand."""

    link: OpenLink
    clients: SubjectClients
    told: list[tuple[Step, TowpathError | None]] = field(default_factory=list)
    created: list[float] = field(default_factory=list)

    def apply(self, steps: Sequence[Step]) -> Applied:
        self.link.read()
        return Applier(
            self.clients,
            JournalWriter(self.link, self.clients),
            on_step=lambda step, error: self.told.append((step, error)),
            on_changed=self._changed,
        ).apply(steps)

    def _changed(self, step: Step, seconds: float) -> None:
        if isinstance(step, CreateTopic):
            self.created.append(seconds)

    def before(self, request: str, do: Callable[[], object]) -> None:
        """Do something once, right before a request of this process."""
        name, call = request.split(".")
        part = getattr(self.link.target, name)
        real = getattr(part, call)

        def called(*arguments: Any, **more: Any) -> Any:
            setattr(part, call, real)
            do()
            return real(*arguments, **more)

        setattr(part, call, called)


@contextmanager
def process(config: LinkConfig) -> Iterator[Process]:
    with open_link(config) as link, SUBJECTS.open(link) as clients:
        link.prepare()
        yield Process(link, clients)


def created(both: Both) -> tuple[Step, ...]:
    """Return steps that create something of each kind."""
    quota = Quota((Entity(EntityKind.USER, both.name),), QuotaKey.CONSUMER_BYTE_RATE)
    other = Quota((Entity(EntityKind.USER, both.name),), QuotaKey.PRODUCER_BYTE_RATE)
    names = [both.topic(letter) for letter in "abc"]
    acls = [both.acl(".a", Permission.DENY), both.acl("."), both.acl(".b", who="other")]
    return SUBJECTS.kinds.ordered(
        (
            *(
                CreateTopic(
                    source=name,
                    target=name,
                    partitions=2,
                    replication_factor=1,
                    configs={"segment.ms": "600000"},
                )
                for name in names
            ),
            *(CreateAcl(acl, str(acl)) for acl in acls),
            SetQuota(quota, 1024.0, None),
            SetQuota(other, 2048.0, None),
            SetUser(Credential(both.name, Mechanism.SHA_256), 4096, None),
        )
    )


def ours(both: Both) -> set[str]:
    """Return what the ledger says is the link's own."""
    with open_link(both.config) as link:
        link.read()
        known = [TopicName(e.name) for e in link.books.journal.values() if e.subject == "topics"]
        ids = {name: info.id for name, info in link.target.topics.describe(known).items()}
        return {
            *(about for _, about in access_ours(link.books)),
            *topics_ours(link.books, ids).created,
        }


def test_what_is_denied_in_vain_holds_back_what_is_allowed(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    denied = both.acl(".secret", Permission.DENY)
    others = both.acl("-no", Permission.DENY, "other")
    wide, elsewhere, everybody = both.acl("."), both.acl(".open"), both.acl(".secret.x", who="*")
    apart = both.acl(".secret", who="other")
    steps = [CreateAcl(a, "") for a in (denied, others, wide, elsewhere, everybody, apart)]
    with process(both.config) as one:
        real = one.link.target.acls.create

        def create(acls: Any) -> Any:
            wanted = list(acls)
            made = real(acl for acl in wanted if acl != denied)
            if denied in wanted:
                return Answers(made, {denied: RefusedError("target", "creating it", 1, "NO", "")})
            return made

        monkeypatch.setattr(one.link.target.acls, "create", create)
        applied = one.apply(steps)
        assert [step.about for step, _ in applied.failed] == [
            str(denied), str(wide), str(everybody),
        ]  # fmt: skip
        for _, error in applied.failed[1:]:
            assert isinstance(error, StepHeldBackError)
            assert f"another ACL ({denied}) could not be created before" in str(error)
        wait_until(
            lambda: both.mine(both.target) == set(map(str, (others, elsewhere, apart))), "made"
        )
        assert [error is None for _, error in one.told] == [False, True, False, True, False, True]
        assert len(failures(one.link.books)) == 3
        monkeypatch.undo()
        again = one.apply([step for step, _ in applied.failed])
        assert (len(again.done), again.failed) == (3, [])
    assert ours(both) == {step.about for step in steps}


def test_one_refused_change_does_not_fail_the_others_of_its_request(both: Both) -> None:
    good, bad, late = (both.topic(letter) for letter in "abc")
    wrong = CreateTopic(
        source=bad, target=bad, partitions=1, replication_factor=1, configs={"no.such.config": "1"}
    )
    acl = both.acl("x")
    with process(both.config) as one:
        steps = [
            CreateTopic(source=good, target=good, partitions=3, replication_factor=1, configs={}),
            wrong,
            CreateTopic(source=late, target=late, partitions=1, replication_factor=1, configs={}),
        ]
        made = one.apply(steps)
        [(step, error)] = made.failed
        assert (step, "no.such.config" in str(error)) == (wrong, True)
        assert len(one.created) == 2
        assert 0 < sum(one.created) < 10
        changes = one.apply(
            [
                AddPartitions(good, good, 3, 4),
                AddPartitions(bad, bad, 1, 2),
                AddPartitions(late, late, 1, 3),
                SetConfigs(
                    source=good,
                    target=good,
                    set={"segment.ms": "700000"},
                    remove=(),
                    before={"segment.ms": None},
                ),
                SetConfigs(
                    source=bad,
                    target=bad,
                    set={"segment.ms": "700000"},
                    remove=(),
                    before={"segment.ms": None},
                ),
                SetConfigs(
                    source=late,
                    target=late,
                    set={"segment.ms": "-1"},
                    remove=(),
                    before={"segment.ms": None},
                ),
                CreateAcl(acl, ""),
            ]
        )
        assert [type(step) for step in changes.done] == [
            AddPartitions, AddPartitions, SetConfigs, CreateAcl,
        ]  # fmt: skip
        assert [step.about for step, _ in changes.failed] == [bad, bad, late]
    assert ours(both) == {good, late, str(acl)}
    found = both.target.topics.describe([good, bad, late])
    assert {name: len(info.partitions) for name, info in found.items()} == {good: 4, late: 3}


def test_processes_of_the_link_own_together_what_one_of_them_made(both: Both) -> None:
    """The others come later, with plans that were made before."""
    steps = created(both)
    with ExitStack() as stack:
        one, other = (stack.enter_context(process(both.config)) for _ in range(2))
        assert other.apply(steps).failed == []
        assert one.apply(steps).failed == []
        assert (len(other.created), one.created) == (3, [])
        assert failures(one.link.books) == []
    assert ours(both) == {step.about for step in steps}


def test_a_process_that_fails_disowns_nothing(both: Both) -> None:
    """It wanted other partitions and quotas, planned before the source changed."""
    steps = created(both)
    old = tuple(_as_before(step) for step in steps)
    with ExitStack() as stack:
        one, other = (stack.enter_context(process(both.config)) for _ in range(2))
        assert other.apply(steps).failed == []
        one.apply(old)
        assert {step.about for step in steps} == ours(both)
        third = stack.enter_context(process(both.config))
        third.apply(old)
    assert ours(both) == {step.about for step in steps}


def _as_before(step: Step) -> Step:
    match step:
        case CreateTopic():
            return CreateTopic(
                source=step.source,
                target=step.target,
                partitions=1,
                replication_factor=1,
                configs={},
            )
        case SetQuota():
            return SetQuota(step.quota, 1.0, None)
        case SetUser():
            return SetUser(step.credential, 16384, None)
        case _:
            return step


def test_what_a_stranger_makes_meanwhile_is_not_ours(both: Both) -> None:
    steps = created(both)
    theirs = [step for step in steps if isinstance(step, CreateTopic | SetQuota | SetUser)]

    def stranger(step: Step) -> None:
        match step:
            case CreateTopic():
                both.target.topics.create(step.target, 2, 1, step.configs)
            case SetQuota():
                both.target.quotas.change(step.quota, step.value)
            case SetUser():
                both.target.users.set_credential(step.credential, 4096, PASSWORD)
            case _:
                raise AssertionError(step)

    topic, quota = theirs[0], next(s for s in theirs if isinstance(s, SetQuota))
    with process(both.config) as one:
        one.before("topics.create_all", lambda: stranger(topic))
        stranger(quota)
        wait_until(
            lambda: both.target.quotas.describe().known.get(quota.quota) is not None, "it is set"
        )
        applied = one.apply(steps)
        assert applied.failed == []
        assert len(one.created) == 2
    assert ours(both) == {step.about for step in steps} - {topic.about, quota.about}


def test_what_was_made_without_an_answer_is_ours_once_the_run_goes_on(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, lost = (
        CreateTopic(
            source=both.topic(n),
            target=both.topic(n),
            partitions=2,
            replication_factor=1,
            configs={},
        )
        for n in "ab"
    )
    with process(both.config) as one:
        real = one.link.target.topics.create_all

        def create(wanted: Any) -> Any:
            found = real(wanted)
            made = dict(found)
            if made.pop(lost.target, None) is None:
                return found  # the topic of events, in another thread
            return Answers(made, {lost.target: UnreachableError("target", "creating it", "away")})

        monkeypatch.setattr(one.link.target.topics, "create_all", create)
        applied = one.apply([good, lost])
        assert (applied.done, [step for step, _ in applied.failed]) == ([good], [lost])
        assert ours(both) == {good.about}
        one.link.read()
        assert one.apply([]).complete
        assert ours(both) == {good.about, lost.about}


def test_it_ends_between_two_batches(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_kinds, "AT_ONCE", 2)
    steps = [CreateAcl(both.acl(f"{n}"), "") for n in range(5)]
    stop = threading.Event()
    with process(both.config) as one:
        journal = JournalWriter(one.link, one.clients)
        applier = Applier(one.clients, journal, on_step=lambda *_: stop.set(), stop=stop)
        applied = applier.apply(steps)
    assert (applied.done, applied.rest) == (steps[:2], steps[2:])
    assert ours(both) == {step.about for step in steps[:2]}


def _killed(both: Both, count: int) -> None:
    """Apply, and die without a word before or behind a request, or an entry of the journal."""
    left = iter(range(count))

    def die_in_time() -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    def deadly(real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **more: Any) -> Any:
            die_in_time()
            answer = real(*arguments, **more)
            die_in_time()
            return answer

        return called

    steps = both.plan().steps
    with process(both.config) as one:
        for where, name in ((Control, "_ask_at"), (Ledger, "append")):
            setattr(where, name, deadly(getattr(where, name)))
        one.apply(steps)


def test_an_apply_that_is_killed_anywhere_ends_the_same(
    both: Both, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever it was killed, the end is the same, and all of it is ours."""
    monkeypatch.setattr(step_kinds, "AT_ONCE", 2)
    wanted = created(both)
    for step in wanted:
        if isinstance(step, CreateTopic):
            make_topic(step, both.source)
        elif isinstance(step, CreateAcl | SetQuota | SetUser):
            make_access(step, both.source, {both.name: PASSWORD})
    wait_until(lambda: len(both.mine(both.source)) == len(wanted), "the source is ready")
    expected = both.mine(both.source)
    killed = 0
    while killed < 12:
        context = multiprocessing.get_context("fork")
        child = context.Process(target=_killed, args=(both, rng.randint(0, 30)))
        child.start()
        child.join(60)
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        killed += 1
    assert killed > 1
    with process(both.config) as last:
        assert last.apply(both.plan().steps).failed == []
    wait_until(lambda: both.mine(both.target) == expected, "everything is there")
    assert ours(both) == {step.about for step in wanted}
    wait_until(lambda: both.plan().steps == (), "nothing is left to do")
