"""The ledger's topic on real brokers: ours, and those that somebody made beforehand."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._resource import ResourceType

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.clusters.rights import LITERAL, READ, WRITE, allow
from tests.support.copying.chaos import delete_topic
from tests.support.kafka import Record, create_topic, produce, wait_until
from tests.support.ledger.books import opened as opening
from tests.support.ledger.runs import run
from tests.support.links import link
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger import ledger as ledgers
from towpath.ledger.chunks import Incarnation
from towpath.ledger.entries import (
    Entry,
    FirstLook,
    Journal,
    LinkIdentity,
    Phase,
    Runs,
    SeenGroup,
    SeenPosition,
    Session,
)
from towpath.ledger.ledger import FACTS, RUNS, SCHEMAS, SESSIONS, Ledger
from towpath.ledger.packed import Packer
from towpath.ledger.tidy import Tidy
from towpath.ledger.topic import TOPIC
from towpath.mirror.plan.link_plan import build
from towpath.model.errors import LedgerError
from towpath.model.groups import GroupKind
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Mode,
    ProducerId,
    Side,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.plan.build import ledger as preflight
from towpath.records.run_log import RunLog
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker
LINK = LinkName("l")
ORDERS = TopicPartition(TopicName("orders"), 0)
OPENED = opening(ORDERS, mode=Mode.MAPPED, at=5)


@pytest.fixture(autouse=True)
def no_ledger(request: pytest.FixtureRequest) -> Iterator[None]:
    """Begin without a ledger on the cluster that a test has to itself, and leave none."""
    boot = request.getfixturevalue("lone").bootstrap if "lone" in request.fixturenames else ""
    _remove_ledger(boot)
    yield
    _remove_ledger(boot)


def _remove_ledger(boot: str) -> None:
    if boot and TOPIC in AdminClient({"bootstrap.servers": boot}).list_topics(timeout=10).topics:
        delete_topic(boot, TOPIC)


@pytest.fixture
def admin(lone: LocalCluster) -> Iterator[Admin]:
    with Admin(ClusterConfig(bootstrap=lone.addresses), Side.TARGET) as made:
        yield made


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def opened(stack: ExitStack, lone: LocalCluster, admin: Admin) -> Ledger:
    """Return the ledger as a fresh process finds it."""
    config = ClusterConfig(bootstrap=lone.addresses)
    return Ledger(admin, stack.enter_context(Client(config, Side.TARGET, admin)))


BAD: list[tuple[int, dict[str, str], list[str]]] = [
    (
        1,
        {"cleanup.policy": "compact"},
        [
            "target: topic __towpath_ledger has 1 partition, and the ledger needs 2, for facts and"
            " for signs of life; let it grow to 2"
        ],
    ),
    (
        2,
        {"cleanup.policy": "delete"},
        [
            "target: topic __towpath_ledger has cleanup.policy=delete, so entries would be lost and"
            " partitions be opened anew; set cleanup.policy=compact on it"
        ],
    ),
    (
        5,
        {"cleanup.policy": "compact,delete"},
        [
            "target: topic __towpath_ledger has cleanup.policy=compact,delete, so entries would be"
            " lost and partitions be opened anew; set cleanup.policy=compact on it"
        ],
    ),
    (
        2,
        {"cleanup.policy": ""},
        [
            "target: topic __towpath_ledger has cleanup.policy=, so entries would pile up;"
            " set cleanup.policy=compact on it"
        ],
    ),
    (
        1,
        {"max.message.bytes": "700000"},
        [
            "target: topic __towpath_ledger has 1 partition,",
            "target: topic __towpath_ledger has cleanup.policy=delete,",
            "target: topic __towpath_ledger has max.message.bytes=700000, and entries are written"
            " in batches of up to 786432 bytes; set max.message.bytes=10485760 on it",
        ],
    ),
]


@pytest.mark.parametrize(("partitions", "configs", "sentences"), BAD)
def test_a_ledger_that_would_lose_entries_is_refused(
    stack: ExitStack, lone: LocalCluster, admin: Admin, partitions: int,
    configs: Mapping[str, str], sentences: list[str],
) -> None:  # fmt: skip
    create_topic(lone.bootstrap, TOPIC, partitions, configs)
    plan = build(link(lone.bootstrap, lone.bootstrap, "nothing", rename="copy.{topic}"))
    assert plan.exit_code == 4
    texts = [problem.text for problem in plan.refusals]
    ledger = opened(stack, lone, admin)
    for act in (ledger.create, lambda: ledger.books(LINK)):
        with pytest.raises(LedgerError) as caught:
            act()
        assert str(caught.value).split("\n") == texts
    assert len(texts) == len(sentences)
    assert [text[: len(start)] for text, start in zip(texts, sentences, strict=True)] == sentences


def test_a_ledger_made_by_hand_may_differ_otherwise(
    stack: ExitStack, lone: LocalCluster, admin: Admin
) -> None:
    configs = {"cleanup.policy": "compact", "segment.bytes": "20000000"}
    create_topic(lone.bootstrap, TOPIC, 3, configs)
    # A broker may tell the configs of the deleted topic of that name for a moment.
    wait_until(lambda: preflight(admin, 1) == ([], []), "nothing is wrong with the ledger")
    ledger = opened(stack, lone, admin)
    ledger.create()
    assert ledger.books(LINK).identity is None
    assert len(admin.topics.describe([TOPIC])[TOPIC].partitions) == 3
    group = SeenGroup(
        link=LINK,
        group="g",
        of=GroupKind.CONSUMER,
        mirror_group="g",
        state="Empty",
        at=1,
        ids={ORDERS.topic: TopicId("s")},
        topics={ORDERS.topic: (SeenPosition(0, SourceOffset(7), metadata="m"),)},
    )
    ledger.append([group])
    books = ledger.books(LINK)
    ledger.read_groups(books)
    assert books.groups == {"g": group}, "groups are among the runs of an older ledger"


def step(number: int, phase: Phase, link: str = LINK, subject: str = "schemas") -> Journal:
    return Journal(
        link=LinkName(link),
        subject=subject,
        name=f"s{number}",
        do="RegisterSchemas",
        part="0",
        step={"name": f"s{number}"},
        phase=phase,
        plan="",
        owned=False,
        topic_id=TopicId(""),
        error="",
        at=1,
    )


def test_steps_about_schemas_have_a_partition_of_their_own(
    stack: ExitStack, lone: LocalCluster, admin: Admin
) -> None:
    ledger = opened(stack, lone, admin)
    ledger.create()
    topic = step(0, Phase.DONE, subject="topics")
    ledger.append([step(1, Phase.BEGUN), topic, step(2, Phase.BEGUN), step(1, Phase.BEGUN, "m")])
    ledger.append([step(1, Phase.DONE)])
    fresh = opened(stack, lone, admin)
    books = fresh.books(LINK)
    assert list(books.journal.values()) == [topic]
    assert fresh.read(wanted=lambda _: True) == [], "slices do not read about schemas"
    fresh.read_schemas(books)
    assert list(books.journal.values()) == [topic, step(2, Phase.BEGUN), step(1, Phase.DONE)]
    ledger.append([step(2, Phase.FAILED)])
    fresh.read_schemas(books)
    assert books.journal["schemas", "s2", "RegisterSchemas", "0"].phase is Phase.FAILED
    assert fresh.read(SCHEMAS, wanted=lambda _: True) == []


def test_steps_about_schemas_are_among_the_facts_of_an_older_ledger(
    stack: ExitStack, lone: LocalCluster, admin: Admin
) -> None:
    create_topic(lone.bootstrap, TOPIC, 4, {"cleanup.policy": "compact"})
    ledger = opened(stack, lone, admin)
    ledger.append([step(1, Phase.BEGUN), step(2, Phase.DONE)])
    fresh = opened(stack, lone, admin)
    books = fresh.books(LINK)
    fresh.read_schemas(books)
    assert list(books.journal.values()) == [step(1, Phase.BEGUN), step(2, Phase.DONE)]
    admin.topics.grow(TOPIC, 5)
    wait_until(lambda: len(admin.topics.describe([TOPIC])[TOPIC].partitions) == 5, "it has grown")
    late = opened(stack, lone, admin)
    late.append([step(1, Phase.DONE)])
    books = late.books(LINK)
    late.read_schemas(books)
    assert books.journal["schemas", "s1", "RegisterSchemas", "0"].phase is Phase.DONE


def test_our_own_ledger_is_as_it_must_be(
    stack: ExitStack, lone: LocalCluster, admin: Admin
) -> None:
    ledger = opened(stack, lone, admin)
    for _ in range(2):
        assert preflight(admin, 1) == ([], [])
        ledger.create()
    configs = admin.configs.describe([TOPIC])[TOPIC]
    assert configs["cleanup.policy"].value == "compact"
    assert configs["segment.ms"].value == "600000"


def test_a_ledger_that_another_process_creates_meanwhile_is_no_reason_to_refuse(
    stack: ExitStack, lone: LocalCluster, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(stack, lone, admin).create()
    monkeypatch.setattr("towpath.ledger.topic.find", lambda _: None)  # as it was a moment ago
    assert preflight(admin, 1) == ([], [])


def test_configs_that_may_not_be_seen_are_no_reason_to_refuse(
    secured_target: LocalCluster, vault: Vault, tmp_path: Path
) -> None:
    allow(secured_target, ResourceType.TOPIC, TOPIC, (READ, WRITE), "nobody", LITERAL)
    (tmp_path / "password").write_text(USERS["nobody"].reveal())
    login = {"tls": {"ca": str(vault.ca)}, "sasl": {
        "mechanism": "PLAIN", "username": "nobody", "password": f"file:{tmp_path / 'password'}",
    }}  # fmt: skip
    config = link("a:1", secured_target.bootstrap, "orders", security=login).target
    with Admin(ClusterConfig(bootstrap=(secured_target.back_door,)), Side.TARGET) as all_powerful:
        Ledger(all_powerful, Client(config, Side.TARGET, all_powerful)).create()
    with Admin(config, Side.TARGET) as nobody, Client(config, Side.TARGET, nobody) as client:
        wait_until(lambda: TOPIC in nobody.topics.describe(), "the ledger is seen")
        (note,), problems = preflight(nobody, 1)
        ledger = Ledger(nobody, client)
        ledger.create()
        assert ledger.books(LINK).identity is None
    assert not problems
    assert note.about == TOPIC
    assert note.text == (
        "target: asking for the configs of topic __towpath_ledger: TOPIC_AUTHORIZATION_FAILED"
        " (29); Topic authorization failed; the login needs the ACL DescribeConfigs on topic"
        " __towpath_ledger; until then it is not checked that the ledger keeps all entries"
        " (cleanup.policy=compact)"
    )


def test_a_ledger_whose_first_entries_were_deleted_is_refused(
    stack: ExitStack, lone: LocalCluster, admin: Admin
) -> None:
    create_topic(lone.bootstrap, TOPIC, 2, {"cleanup.policy": "delete"})
    produce(lone.bootstrap, TOPIC, [Record(b"k", b"v")])
    admin.offsets.delete_records({FACTS: 1})
    admin.configs.change(TOPIC, {"cleanup.policy": "compact"})
    wait_until(lambda: preflight(admin, 1) == ([], []), "the config is known")
    with pytest.raises(LedgerError) as caught:
        opened(stack, lone, admin).books(LINK)
    assert str(caught.value) == (
        "target: the first entries of topic __towpath_ledger were deleted, and with them where"
        " partitions stand; delete the topic and the mirror topics to have everything copied again"
    )


def test_runs_without_number_fit_into_the_ledger(
    stack: ExitStack, lone: LocalCluster, admin: Admin
) -> None:
    ledger = opened(stack, lone, admin)
    ledger.create()
    rng = random.Random(7)
    first = 10**15
    ends = list(accumulate((rng.randrange(2, 10**6) for _ in range(300_000)), initial=first))
    runs = tuple(run(at, at - first, end - at - 1) for at, end in pairwise(ends))
    entries = list(RunLog(LINK, ORDERS, OPENED.producer_id).add(runs))
    other = LinkIdentity(LINK, ClusterId("a"), ClusterId("b"))
    admin.configs.change(TOPIC, {"max.message.bytes": "786432"})
    wait_until(
        lambda: admin.configs.describe([TOPIC])[TOPIC]["max.message.bytes"].value == "786432",
        "it is set",
    )
    ledger.append([OPENED, *entries, other])
    assert opened(stack, lone, admin).read() == [OPENED, other]
    fresh = opened(stack, lone, admin)
    kept = fresh.books(LINK).of(ORDERS)
    assert kept.offsets().runs == runs
    assert sum(map(len, kept.runs.values())) < 5 * len(runs)
    assert len(fresh.read(RUNS, wanted=lambda _: True)) == len(entries)


def test_a_ledger_with_two_partitions_keeps_runs_among_the_facts(
    stack: ExitStack, lone: LocalCluster, admin: Admin
) -> None:
    create_topic(lone.bootstrap, TOPIC, 2, {"cleanup.policy": "compact"})
    ledger = opened(stack, lone, admin)
    runs = [
        Runs(
            link=LINK,
            topic=ORDERS.topic,
            partition=0,
            producer_id=OPENED.producer_id,
            runs=((SourceOffset(0), TargetOffset(0), 5), (SourceOffset(7), TargetOffset(5), 2)),
        )
    ]
    ledger.append([OPENED, *runs])
    assert opened(stack, lone, admin).read() == [OPENED]
    assert opened(stack, lone, admin).books(LINK).of(ORDERS).offsets().runs == runs[0].runs


def test_chunks_are_merged_and_removed_once_nobody_writes_them(
    stack: ExitStack, lone: LocalCluster, admin: Admin
) -> None:
    ledger = opened(stack, lone, admin)
    ledger.create()
    of = Incarnation(LINK, ORDERS, OPENED.producer_id)
    before = replace(of, producer_id=ProducerId(9))
    runs = [run(n * 11, n * 10, 10) for n in range(60)]
    chunks = [of.chunk(Packer(runs[n : n + 5]), f"c{n}") for n in range(0, 50, 5)]
    old = [replace(chunk, at=1) for chunk in (*chunks, before.chunk(Packer(runs), "x"))]
    ledger.append([OPENED, *old, of.chunk(Packer(runs[50:]), "new")])
    create_topic(lone.bootstrap, ORDERS.topic, 1)
    produce(lone.bootstrap, ORDERS.topic, [Record(b"k", b"v")] * 60)
    admin.offsets.delete_records({ORDERS: 55})
    tidy = Tidy(admin, ledger._client, LINK)
    assert [tidy.once(), tidy.once()] == [11, 0]
    kept = opened(stack, lone, admin).books(LINK).of(ORDERS)
    assert kept.offsets().runs == tuple(runs[5:])
    assert len(kept.runs) == 2
    assert Tidy(admin, ledger._client, LINK).once() == 0


READER = """
import sys
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.settings import ClusterConfig
from towpath.ledger.ledger import Ledger

config = ClusterConfig(bootstrap=(sys.argv[1],))
with Admin(config, "target") as admin, Client(config, "target", admin) as client:
    books = Ledger(admin, client).books("l")
print(books.identity.source_cluster, books.first_look.run_id)
print(*sorted({"numba", "pyarrow", "pyspark"} & set(sys.modules)))
"""


def test_the_ledger_is_read_without_numba_and_arrow(
    stack: ExitStack, lone: LocalCluster, admin: Admin
) -> None:
    ledger = opened(stack, lone, admin)
    ledger.create()
    large = "r" * 2000  # so that its batch is compressed
    ledger.append([LinkIdentity(LINK, ClusterId("a"), ClusterId("b"))])
    ledger.append([FirstLook(LINK, large, 1)])
    ran = subprocess.run(
        [sys.executable, "-c", READER, lone.bootstrap], capture_output=True, check=True
    )
    assert ran.stdout.decode() == f"a {large}\n\n"


def beat(number: int, link: str = LINK) -> Session:
    return Session(
        link=LinkName(link),
        run_id="r",
        host="host",
        pid=1,
        started=2,
        beat=number,
        ended_round=0,
        over=False,
    )


def test_of_signs_of_life_only_the_latest_are_read(
    stack: ExitStack, lone: LocalCluster, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "_RECENT", 10)
    ledger = opened(stack, lone, admin)
    ledger.create()
    assert ledger.read(SESSIONS) == []
    beats: list[Entry] = [beat(number) for number in range(25)]
    for each in beats:
        ledger.append([each], SESSIONS)
    late = opened(stack, lone, admin)
    assert late.read(SESSIONS) == beats[15:]
    assert late.read(SESSIONS) == []
    ledger.append([beat(25)], SESSIONS)
    assert late.read(SESSIONS) == [beat(25)]
    assert ledger.read(SESSIONS) == [*beats, beat(25)]
    admin_of_few = opened(stack, lone, admin)
    monkeypatch.setattr(ledgers, "_RECENT", 100)
    assert admin_of_few.read(SESSIONS) == [*beats, beat(25)]
