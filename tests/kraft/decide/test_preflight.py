"""What is found before a migration: each thing that failed on real clusters, and its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from string import Formatter

import pytest

from tests.support.kraft.decisions import next_step
from tests.support.kraft.worlds import (
    CLUSTER,
    at_stage,
    broker_properties,
    broker_seen,
    kraft_config,
    migration_znode,
    reasons,
    start_of,
    with_broker,
    with_controller,
    with_log,
    with_zookeeper,
)
from towpath.kraft.decide.preflight import preflight
from towpath.kraft.facts.image import ClusterImage, ConfigOf, PartitionImage, Token, TopicImage
from towpath.kraft.facts.nouns import Goal, LogState, NodeId, Stage
from towpath.kraft.facts.seen import (
    ClusterSeen,
    Health,
    MetaProperties,
    MigrationZnode,
    Observation,
    Oddity,
    OddZnode,
    Unseen,
)
from towpath.kraft.facts.servers import EnsembleSeen, ServerMode, ServerSeen
from towpath.kraft.files.configs import ACL_AUTHORIZER
from towpath.kraft.findings.codes import FindingCode, Severity
from towpath.kraft.findings.findings import Finding, Refused
from towpath.kraft.findings.texts import TEXTS
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource

_CONFIG = kraft_config()
_START = start_of(_CONFIG)


def _codes(seen: Observation) -> set[FindingCode]:
    return {each.code for each in preflight(_CONFIG, seen)}


def test_a_healthy_cluster_is_told_what_nobody_here_can_see() -> None:
    # The world of the tests has one ZooKeeper server.
    assert _codes(_START) == {FindingCode.NOT_CHECKED, FindingCode.ZOOKEEPER_SMALL}


def _with(**changes: str | None) -> Observation:
    """Return a cluster with other properties on broker 1."""
    keys = {key.replace("_", "."): value for key, value in changes.items()}
    told = {**broker_properties(1), **keys}
    return with_broker(
        _START, 1, properties={key: value for key, value in told.items() if value is not None}
    )


def _everywhere(key: str, value: str) -> Observation:
    seen = _START
    for node in seen.brokers.values():
        seen = with_broker(seen, node.id, properties={**node.properties, key: value})
    return seen


def _image(**changes: object) -> Observation:
    return with_zookeeper(_START, image=ClusterImage(**changes))  # type: ignore[arg-type]


def _topic(**changes: object) -> Observation:
    whole: dict[str, object] = {"replicas": (0, 1), "isr": (0, 1), "leader": 0, "leader_epoch": 1}
    partition = PartitionImage(**(whole | {"partition_epoch": 1} | changes))  # type: ignore[arg-type]
    return _image(topics={"t": TopicImage("id", {0: partition})})


_ACL = Acl(
    resource=Resource.TOPIC,
    name="a/b",
    pattern=Pattern.LITERAL,
    principal="User:a",
    host="*",
    operation=Operation.READ,
    permission=Permission.ALLOW,
)
_META = MetaProperties(
    directory="/data/c0", version=1, cluster_id="OTHER", node=NodeId(3000), directory_id=None
)
_TOKEN = Token("User:a", "User:a", (), 0, 0, 0)


def _in_files() -> Iterator[tuple[Observation, FindingCode]]:
    """Yield a cluster for each thing that is to be found, with the code of it."""
    code = FindingCode
    provisioned = at_stage(_CONFIG, Stage.PROVISIONED)
    registering = at_stage(_CONFIG, Stage.REGISTERING)
    yield with_broker(_START, 1, software=None), code.SOFTWARE_UNKNOWN
    for other in ("3.8", "before 3.9", "4.0"):
        yield with_broker(_START, 1, software=other), code.SOFTWARE_OTHER
    yield with_broker(_START, 1, build="3.9.1"), code.SOFTWARE_MIXED
    yield with_controller(provisioned, 3001, build="3.9.1"), code.SOFTWARE_MIXED
    yield with_broker(_START, 1, build="3.9.1"), code.SOFTWARE_EARLY
    yield with_broker(_START, 1, build=None), code.BUILDS_UNKNOWN
    yield with_broker(_START, 1, heap=1 << 30), code.HEAPS
    yield _with(zookeeper_session_timeout_ms="300000"), code.SESSIONS_LONG
    null = MigrationZnode(is_null=True)
    # Controllers read it, and those that do not run yet tell no patch level.
    yield with_zookeeper(_START, migration=null), code.ANCHOR_NULL
    yield with_zookeeper(_START, migration=null), code.ANCHOR_EMPTY
    yield _with(inter_broker_protocol_version=None), code.PROTOCOL_UNSET
    yield _with(inter_broker_protocol_version="3.8"), code.PROTOCOL_MIXED
    yield _everywhere("inter.broker.protocol.version", "3.3"), code.PROTOCOL_OLD
    several = _everywhere("inter.broker.protocol.version", "3.6")
    told = {**several.brokers[NodeId(1)].properties, "log.dirs": "/data/b1,/more"}
    yield with_broker(several, 1, properties=told), code.LOG_DIRS_SEVERAL
    yield with_log(provisioned, features={"metadata.version": 20}), code.PROTOCOL_DIFFERS
    yield _with(broker_id="7"), code.BROKER_ID_DIFFERS
    theirs = MetaProperties(
        directory="/b1", version=0, cluster_id=CLUSTER, node=NodeId(1), directory_id=None
    )
    yield with_controller(_START, 3000, meta=(theirs,)), code.FOLDER_TAKEN
    yield _with(broker_id=None), code.BROKER_ID_UNSET
    yield _with(listeners="CONTROLLER://:1"), code.LISTENER_TAKEN
    yield _with(authorizer_class_name="a.B"), code.AUTHORIZER_UNKNOWN
    yield (
        with_zookeeper(_START, brokers=frozenset(map(NodeId, (0, 1, 2, 3000)))),
        code.CONTROLLER_ID_TAKEN,
    )
    yield (
        with_zookeeper(_START, brokers=frozenset(map(NodeId, (0, 1, 2, 9)))),
        code.BROKERS_NOT_IN_FILE,
    )
    yield _with(super_users="User:x"), code.BROKERS_DIFFER
    yield _everywhere("alter.config.policy.class.name", "a.B"), code.POLICY_DIFFERENT
    yield _everywhere("authorizer.class.name", ACL_AUTHORIZER), code.BROKERS_ANONYMOUS
    yield _image(tokens={"t": _TOKEN}), code.TOKEN_KEY_MISSING
    dynamic = {(ConfigOf.BROKER, "1"): {"listener.name.a.ssl.keystore.password": "digest"}}
    yield _image(configs=dynamic), code.ENCODER_SECRET_MISSING
    login = {(ConfigOf.BROKER, "1"): {"listener.name.a.scram-sha-256.sasl.jaas.config": "digest"}}
    yield _image(configs=login), code.ENCODER_SECRET_MISSING
    yield (
        _image(configs={(ConfigOf.BROKER, "1"): {"advertised.listeners": "x"}}),
        code.DYNAMIC_LISTENERS,
    )
    yield _with(controller_quorum_voters="1@a:1"), code.KRAFT_KEYS_EARLY
    rolled = next(
        node
        for node, each in registering.brokers.items()
        if "controller.quorum.voters" in each.properties
    )
    few = {**registering.brokers[rolled].properties, "controller.quorum.voters": "3000@h:1"}
    yield with_broker(registering, rolled, properties=few), code.VOTERS_OF_BROKERS
    yield _with(control_plane_listener_name="C"), code.CONTROL_PLANE
    yield _with(delete_topic_enable="false"), code.PROBE_STAYS
    yield _everywhere("create.topic.policy.class.name", "a.B"), code.PROBE_POLICY
    left = TopicImage("x" * 22, {})
    yield _image(topics={"towpath-kraft-probe-00ff": left}), code.PROBES_LEFT


_MODES = ServerMode.LEADER, ServerMode.FOLLOWER, None
"""Of the servers of a ZooKeeper of which one is away."""


def _elsewhere() -> Iterator[tuple[Observation, FindingCode]]:
    """Yield the same for nodes, contents and the quorum."""
    code = FindingCode
    provisioned = at_stage(_CONFIG, Stage.PROVISIONED)
    yield with_broker(_START, 1, free_bytes=1_000), code.DISK_LOW
    yield with_broker(_START, 1, meta=()), code.LOG_DIRS_MISSING
    yield (
        replace(_START, cluster=ClusterSeen(lost_dirs={NodeId(1): ("/data/b",)})),
        code.LOG_DIRS_OFFLINE,
    )
    yield replace(_START, cluster=ClusterSeen(why="no answer")), code.LOG_DIRS_UNKNOWN
    yield with_controller(_START, 3000, meta=(_META,)), code.CLUSTER_ID
    assert provisioned.quorum is not None
    few_voters = replace(provisioned.quorum, voters=(NodeId(3000),))
    yield replace(provisioned, quorum=few_voters), code.VOTERS_DIFFER
    high = replace(provisioned.quorum, epoch=99)
    yield replace(provisioned, quorum=high), code.EPOCH_LOW
    yield _image(acls=frozenset({_ACL})), code.ACL_SLASH
    yield with_zookeeper(_START, deleting=("t",)), code.DELETING
    servers = tuple(ServerSeen(f"z{n}:1", mode, "", None, "") for n, mode in enumerate(_MODES))
    yield replace(_START, ensemble=EnsembleSeen(servers, 3)), code.ZOOKEEPER_SERVERS_AWAY
    yield replace(_START, ensemble=EnsembleSeen(servers, 3)), code.ZOOKEEPER_NO_SPARE
    yield replace(_START, ensemble=EnsembleSeen(servers[1:], 3)), code.ZOOKEEPER_NO_LEADER
    yield with_zookeeper(_START, writers=("sasl:kafka",)), code.ZNODE_ACLS
    yield with_zookeeper(_START, awaited=frozenset({NodeId(7)})), code.BROKERS_AWAITED
    for oddity, told in (
        (Oddity.FORBIDDEN, code.ZNODES_FORBIDDEN),
        (Oddity.UNKNOWN_FORM, code.ZNODES_UNKNOWN),
        (Oddity.NO_TOPIC_ID, code.TOPIC_IDS_MISSING),
        (Oddity.NO_STATE, code.STATES_MISSING),
        (Oddity.ORPHAN_CONFIG, code.CONFIGS_ORPHANED),
        (Oddity.ENDS_BROKERS, code.ENDS_BROKERS),
        (Oddity.MAY_END_BROKERS, code.MAY_END_BROKERS),
    ):
        yield with_zookeeper(_START, odd=(OddZnode("/a", oddity, "so"),)), told
    yield with_zookeeper(_START, reassigning=("t-0",)), code.REASSIGNING
    yield _topic(adding=(1,)), code.REASSIGNING
    yield _topic(replicas=(0, 7)), code.REPLICAS_AWAY
    yield replace(_START, health=Health(under_replicated=("t-0",))), code.NOT_IN_SYNC
    yield with_broker(_START, 1, running=False, mode=None), code.BROKERS_NOT_SERVING
    yield with_broker(_START, 1, running=False, mode=None, elsewhere=True), code.NODES_ELSEWHERE
    yield with_zookeeper(provisioned, migration=migration_znode(7)), code.WIPE_AHEAD
    yield with_log(provisioned, state=LogState.NONE), code.NEVER_MIGRATABLE
    yield replace(_START, zookeeper=None, unseen=(Unseen("z", "no"),)), code.NOTHING_SEEN
    only = {key: each for key, each in _START.brokers.items() if key}
    yield replace(_START, brokers=only), code.NODES_UNSEEN
    yield with_broker(_START, 1, properties={}), code.NODES_UNSEEN


_CASES = [*_in_files(), *_elsewhere()]


@pytest.mark.parametrize(
    ("seen", "code"),
    _CASES,
    ids=[f"{code}-{number}" for number, (_seen, code) in enumerate(_CASES)],
)
def test_each_problem_is_found_with_its_code(seen: Observation, code: FindingCode) -> None:
    found = {each.code: each for each in preflight(_CONFIG, seen)}
    assert code in found
    assert str(found[code])


def test_what_was_not_seen_is_told_without_what_follows_from_it() -> None:
    """Brokers serve and are in sync by what ZooKeeper tells; it alone is missing."""
    away = replace(_START, zookeeper=None, health=None, unseen=(Unseen("ZooKeeper", "no"),))
    codes = {each.code for each in preflight(_CONFIG, away)}
    assert FindingCode.ZOOKEEPER_UNSEEN in codes
    assert not codes & {FindingCode.BROKERS_NOT_SERVING, FindingCode.HEALTH_UNSEEN}
    lost = with_broker(_START, 1, running=False, mode=None, elsewhere=True)
    assert FindingCode.BROKERS_NOT_SERVING not in {each.code for each in preflight(_CONFIG, lost)}


def test_behind_the_end_nothing_is_told_of_a_way_back_and_of_zookeepers_servers() -> None:
    seen = at_stage(_CONFIG, Stage.FINAL)
    assert seen.quorum is not None
    seen = with_zookeeper(seen, controller_epoch=(seen.quorum.epoch, 1))
    codes = {each.code for each in preflight(_CONFIG, seen)}
    assert not codes & {FindingCode.EPOCH_LOW, FindingCode.ZOOKEEPER_SMALL}


_PASSING = {FindingCode.NOT_IN_SYNC, FindingCode.BROKERS_NOT_SERVING}
"""What stops, and passes by itself or by a step: it is waited for, or mended."""
_HARD = {
    "WIPE_AHEAD", "NEVER_MIGRATABLE", "ANCHOR_NULL", "CLUSTER_ID", "VOTERS_DIFFER",
    "VOTERS_OF_BROKERS", "SOFTWARE_OTHER", "SOFTWARE_MIXED", "PROTOCOL_UNSET",
    "PROTOCOL_MIXED", "PROTOCOL_OLD", "PROTOCOL_DIFFERS", "LOG_DIRS_SEVERAL",
    "LOG_DIRS_MISSING", "LOG_DIRS_OFFLINE", "BROKER_ID_UNSET", "BROKER_ID_DIFFERS",
    "CONTROLLER_ID_TAKEN", "FOLDER_TAKEN", "LISTENER_TAKEN", "AUTHORIZER_UNKNOWN",
    "BROKERS_DIFFER", "DYNAMIC_LISTENERS", "TOKEN_KEY_MISSING", "ENCODER_SECRET_MISSING",
    "ACL_SLASH", "REPLICAS_AWAY", "REASSIGNING", "DELETING", "BROKERS_AWAITED",
    "BROKERS_NOT_IN_FILE", "TOPIC_IDS_MISSING", "ZNODES_FORBIDDEN", "ZNODES_UNKNOWN",
    "PROBE_STAYS", "NOTHING_SEEN", "NODES_UNSEEN", "NODES_ELSEWHERE", "ENDS_BROKERS",
}  # fmt: skip
"""What loses a cluster, or leaves a migration where nothing goes on."""
_STOPPING = [case for case in _CASES if case[1].name in _HARD]


def test_what_would_lose_a_cluster_stops_a_migration() -> None:
    stops = {code for _seen, code in _CASES if TEXTS[code].severity is Severity.STOP}
    assert {code.name for code in stops - _PASSING} == _HARD


@pytest.mark.parametrize(
    ("seen", "code"),
    _STOPPING,
    ids=[f"{code}-{number}" for number, (_seen, code) in enumerate(_STOPPING)],
)
def test_nothing_is_done_where_it_is_found(seen: Observation, code: FindingCode) -> None:
    found = reasons(_CONFIG, seen, Goal.DUAL_WRITE)
    # A broker with the id of a controller is none of the file, which is looked at first.
    other = FindingCode.BROKERS_NOT_IN_FILE if code is FindingCode.CONTROLLER_ID_TAKEN else code
    assert {code, other} & found


def test_places_are_judged_by_the_file() -> None:
    odd = kraft_config(controllers=2)
    assert FindingCode.CONTROLLERS_NUMBER in {each.code for each in preflight(odd, start_of(odd))}
    nodes = [
        {"id": 3000, "address": "127.0.0.1:40000", "properties": "/c", "data": "/tmp/c"}  # noqa: S108
    ]
    lab = kraft_config(nodes=nodes)
    codes = {each.code for each in preflight(lab, start_of(lab))}
    assert {FindingCode.PORTS_EPHEMERAL, FindingCode.DATA_PASSING} <= codes
    port = int(_CONFIG.brokers[0].address.rpartition(":")[2])
    near = with_broker(_START, _CONFIG.brokers[0].id, client_ports=range(port, port + 1))
    assert FindingCode.PORTS_EPHEMERAL not in _codes(_START)
    assert FindingCode.PORTS_EPHEMERAL in _codes(near)
    over = kraft_config(properties={"super.users": "User:other"})
    assert FindingCode.CONTROLLERS_DIFFER in {each.code for each in preflight(over, start_of(over))}


def test_stops_come_first_and_keep_a_migration_from_beginning() -> None:
    seen = with_broker(_START, 1, software="3.8")
    found = preflight(_CONFIG, seen)
    assert found[0].severity is Severity.STOP
    assert found[-1].severity is Severity.NOTE
    decision = next_step(_CONFIG, seen, Goal.DUAL_WRITE)
    assert isinstance(decision, Refused)
    assert {each.code for each in decision.reasons} == {
        each.code for each in found if each.severity is Severity.STOP
    }
    # Behind the copy the gates decide, not what a beginning needs.
    hybrid = with_broker(at_stage(_CONFIG, Stage.HYBRID), 1, software="3.8")
    assert not isinstance(next_step(_CONFIG, hybrid, Goal.DUAL_WRITE), Refused)


def test_controllers_of_a_mended_patch_level_read_an_anchor_without_content() -> None:
    seen = with_zookeeper(
        at_stage(_CONFIG, Stage.PROVISIONED), migration=MigrationZnode(is_null=True)
    )
    for node in seen.controllers:
        assert FindingCode.ANCHOR_NULL in _codes(seen)
        seen = with_controller(seen, node, build="3.9.2")
    assert FindingCode.ANCHOR_NULL not in _codes(seen)


def test_a_finalized_cluster_may_go_on_to_newer_releases() -> None:
    seen = with_broker(at_stage(_CONFIG, Stage.FINAL), 1, software="4.3")
    assert not [each for each in preflight(_CONFIG, seen) if each.code.startswith("SOFTWARE")]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (FindingCode.FILE_UNUSED, ("/etc/other.properties",)),
        (FindingCode.FILE_UNUSED, ("config/b1",)),
        (FindingCode.FILE_OVERRIDDEN, ("/b1", "--override", "broker.id=1")),
        (FindingCode.FILE_OVERRIDDEN, ("/b1", "--override=zookeeper.connect=a:1")),
    ],
)
def test_command_lines_that_win_over_files_are_found(
    code: FindingCode, words: tuple[str, ...]
) -> None:
    assert code in _codes(with_broker(_START, 1, arguments=words))


def test_brokers_whose_files_may_be_made_from_variables_are_told() -> None:
    seen = with_broker(_START, 1, variables=("KAFKA_ZOOKEEPER_CONNECT",))
    [found] = [x for x in preflight(_CONFIG, seen) if x.code is FindingCode.FILE_FROM_VARIABLES]
    assert found.what.endswith(": KAFKA_ZOOKEEPER_CONNECT of broker 1")


@pytest.mark.parametrize(
    "words", [None, (), ("/b1",), ("./b1",), ("../x/b1",), ("b1", "--override", "num.io.threads=3")]
)
def test_brokers_that_are_started_with_their_file_are_fine(words: tuple[str, ...] | None) -> None:
    found = _codes(with_broker(_START, 1, arguments=words))
    assert not found & {FindingCode.FILE_UNUSED, FindingCode.FILE_OVERRIDDEN}


def test_what_a_finished_migration_left_in_files_is_told_and_before_that_it_is_needed() -> None:
    final, both = at_stage(_CONFIG, Stage.FINAL), at_stage(_CONFIG, Stage.DUAL_WRITE)
    [left] = [each for each in preflight(_CONFIG, final) if each.code is FindingCode.KEPT_KEYS]
    assert left.what.startswith("files of brokers 0, 1, 2 still have what ZooKeeper mode needed")
    assert FindingCode.KEPT_KEYS not in _codes(both)


def test_a_broker_with_another_cluster_id_is_found() -> None:
    other = replace(broker_seen(1).meta[0], cluster_id="OTHER")
    seen = with_broker(_START, 1, meta=(other,))
    [found] = [each for each in preflight(_CONFIG, seen) if each.code is FindingCode.CLUSTER_ID]
    assert str(found).startswith(f"nodes 1 are formatted for another cluster than `{CLUSTER}`;")


@pytest.mark.parametrize("code", FindingCode)
def test_each_code_has_sentences_that_need_only_its_values(code: FindingCode) -> None:
    text = TEXTS[code]
    names = {name for each in (text.what, text.advice) for _, name, *_ in Formatter().parse(each)}
    values: dict[str, str | int] = {name: "x" for name in names if name}
    told = str(Finding.of(code, **values))
    assert "{" not in told
    assert told[0].isalpha() or told[0] in "`"
    assert not told.endswith(".")


def test_many_values_are_counted() -> None:
    found = Finding.of(FindingCode.STILL_MIGRATING, brokers=range(9))
    assert found.what == "brokers 0, 1, 2, 3, 4 and 4 more are not in KRaft mode"
