"""What forbids a promotion has a code, and nothing else does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.ledger.books import opened
from towpath.cluster.metadata import Answers, PartitionInfo, ProducerState, TopicInfo
from towpath.gateway.client_logins import ClientLogin
from towpath.gateway.producer_eras import FIRST_ID
from towpath.gateway.promotion.promotion_scope import lags, offsets_partition
from towpath.gateway.promotion.reasons.gateways import of_gateway
from towpath.gateway.promotion.reasons.groups import of_commits, of_groups, of_streams
from towpath.gateway.promotion.reasons.logins import of_logins, of_settings
from towpath.gateway.promotion.reasons.producers import (
    MOST,
    RECENT,
    of_committers,
    of_producers,
    unrelayed,
)
from towpath.gateway.promotion.reasons.topics import of_topic
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import GatewaySign, LinkStage, Pause
from towpath.ledger.states import begun
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import LinkName, Mode, ProducerId, TopicId, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.model.scram import Credential, Mechanism
from towpath.model.secret import Secret
from towpath.records.target.fences import COORDINATOR_EPOCH, EPOCH
from towpath.settings import LinkConfig
from towpath.settings.secrets import PemFile
from towpath.settings.sections.clusters import Tls

NAME = TopicName("t")
TP = TopicPartition(NAME, 0)
NOW = 1_000_000
PARTITIONS = (PartitionInfo(0, 1, (1,)),)
THERE = TopicInfo(NAME, TopicId("s"), False, PARTITIONS)
GROUP = ClientGroup("g")


def codes(reasons: Any) -> list[ReasonCode]:
    found = [*reasons]
    assert all(str(each) for each in found), "each has a sentence"
    return [each.code for each in found]


def config(**source: Any) -> LinkConfig:
    return LinkConfig.model_validate(
        {
            "source": {"bootstrap": "a:1", **source},
            "target": {"bootstrap": "b:1"},
            "link": "l",
            "topics": {"include": ["t"]},
        }
    )


def test_clients_that_prove_who_they_are_cannot_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("P", "secret")
    sasl = {"mechanism": "PLAIN", "username": "u", "password": "env:P"}
    assert codes(of_settings(config())) == []
    (why,) = of_settings(config(sasl=sasl))
    assert (why.code, dict(why.values)["side"]) == (ReasonCode.PROMOTE_LOGIN, "source")
    both = config(sasl=sasl)
    side = both.target.model_copy(update={"sasl": both.source.sasl})
    assert codes(of_settings(both.model_copy(update={"target": side}))) == []
    plain = config()
    tls = Tls.model_construct(cert=PemFile("c.pem", Secret("")))
    side = plain.source.model_copy(update={"tls": tls})
    certified = plain.model_copy(update={"source": side})
    assert codes(of_settings(certified)) == [ReasonCode.PROMOTE_CERTIFICATE]


def test_logins_that_the_target_would_not_accept_are_named() -> None:
    seen = [
        ClientLogin("PLAIN", "p"),
        ClientLogin("SCRAM-SHA-256", "a"),
        ClientLogin("SCRAM-SHA-256", "b"),
    ]
    known = {Credential("a", Mechanism.SHA_256), Credential("b", Mechanism.SHA_512)}
    (why,) = of_logins(seen, {"PLAIN", "SCRAM-SHA-256"}, known)
    assert why.code is ReasonCode.PROMOTE_LOGIN
    assert "no credential of b (SCRAM-SHA-256)" in str(why)
    (why,) = of_logins(seen, {"SCRAM-SHA-256"}, None)
    assert "clients log in by PLAIN, and it offers SCRAM-SHA-256" in str(why)
    assert not [*of_logins([ClientLogin("SCRAM-SHA-256")], {"SCRAM-SHA-256"}, known)]
    token = ClientLogin("SCRAM-SHA-256", "tOkEn", token=True)
    (why,) = of_logins([token], {"SCRAM-SHA-256"}, None)
    assert "delegation token tOkEn" in str(why)


def test_a_link_that_was_fenced_is_no_client() -> None:
    """It filled this topic before its clients came, by markers too, and can write no more."""
    link = ProducerId(1 << 41)
    fenced = ProducerState(link, 5, NOW, -1, EPOCH, COORDINATOR_EPOCH)

    def told(state: ProducerState) -> list[ReasonCode]:
        states = Answers[TopicPartition, tuple[ProducerState, ...]]({TP: (state,)}, {})
        return codes(of_producers(states, {}, NOW))

    assert told(fenced) == []
    assert told(replace(fenced, epoch=0)) == [ReasonCode.PROMOTE_DIRECT]
    assert told(replace(fenced, id=ProducerId(7))) == [ReasonCode.PROMOTE_TRANSACTIONS]


def test_another_gateway_is_named() -> None:
    sign = GatewaySign(link=LinkName("l"), name="other", host="h", pid=7, space="", started=1)
    why = of_gateway(sign, "it does not answer")
    assert why.code is ReasonCode.PROMOTE_GATEWAYS
    assert "(it does not answer)" in str(why)
    assert "on h, pid 7, named other; stop it" in str(why)


def books(**changes: Any) -> LinkBooks:
    made = LinkBooks(LinkName("l"))
    made.take(opened(TP, **changes))
    return made


def test_a_topic_moves_if_it_is_the_same_on_both_sides() -> None:
    assert codes(of_topic(NAME, THERE, THERE, books())) == []


@pytest.mark.parametrize("there", [None, THERE])
@pytest.mark.parametrize("mirror", [None, THERE])
def test_a_topic_that_one_side_lacks_does_not_move(
    there: TopicInfo | None, mirror: TopicInfo | None
) -> None:
    lacking = [each for each in (there, mirror) if each is None]
    found = codes(of_topic(NAME, there, mirror, books()))
    assert found == [ReasonCode.PROMOTE_ABSENT] * len(lacking)


@pytest.mark.parametrize(
    ("there", "mirror", "known", "code"),
    [
        (THERE, THERE, LinkBooks(LinkName("l")), ReasonCode.PROMOTE_NOT_COPIED),
        (THERE, THERE, books(mode=Mode.MAPPED), ReasonCode.PROMOTE_NOT_SAME),
        (THERE, THERE, books(target_topic=TopicName("x")), ReasonCode.PROMOTE_NOT_SAME),
        (THERE, replace(THERE, id=TopicId("")), books(), ReasonCode.PROMOTE_NOT_SAME),
        (THERE, replace(THERE, partitions=PARTITIONS * 2), books(), ReasonCode.PROMOTE_NOT_SAME),
    ],
)
def test_a_topic_that_is_another_on_the_target_does_not_move(
    there: TopicInfo, mirror: TopicInfo, known: LinkBooks, code: ReasonCode
) -> None:
    assert codes(of_topic(NAME, there, mirror, known)) == [code]


@pytest.mark.parametrize("mirror", [None, THERE])
def test_a_topic_of_no_link_is_named_as_such(mirror: TopicInfo | None) -> None:
    none = LinkBooks(LinkName("l"))
    (why,) = of_topic(NAME, THERE, mirror, none, included=False)
    assert str(why) == f"topic {NAME} is not copied: `topics.include` of the link does not name it"
    assert codes(of_topic(NAME, THERE, THERE, books(), included=False)) == []
    absent = codes(of_topic(NAME, None, mirror, none, included=False))
    assert ReasonCode.PROMOTE_ABSENT in absent


@pytest.mark.parametrize(
    ("stage", "hint"),
    [
        (LinkStage.SEALED, "it is sealed; `towpath failover FILE`"),
        (LinkStage.FAILED_OVER, "it is failed over; clients use the target; `towpath failback"),
        (LinkStage.REVERSED, "it is reversed; link l-back copies back; give `towpath failback`"),
        (LinkStage.STOPPED, "it is stopped; `towpath topics start FILE`"),
        (None, "it is paused; `towpath resume FILE` goes on"),
    ],
)
def test_a_topic_that_is_not_copied_now_tells_what_to_do(
    stage: LinkStage | None, hint: str
) -> None:
    known = books()
    if stage is None:
        known.take(Pause(link=LinkName("l"), topic=NAME, user="u", host="h", at=1))
    else:
        known.take(replace(begun(LinkName("l"), NAME).entry, state=stage.value, back="l-back"))
    (why,) = of_topic(NAME, THERE, THERE, known)
    assert hint in str(why)


def state(number: int, *, at: int = NOW, open_since: int = -1, marked: int = -1) -> ProducerState:
    return ProducerState(ProducerId(number), 3, at, open_since, 0, marked)


def producers(*states: ProducerState, ids: dict[ProducerId, str] | None = None) -> list[Reason]:
    return [*of_producers(Answers({TP: states}, {}), ids or {}, NOW)]


def test_producers_of_the_gateway_move_and_others_count_for_a_while() -> None:
    assert producers(state(FIRST_ID + 4)) == []
    assert codes(producers(state(5))) == [ReasonCode.PROMOTE_DIRECT]
    assert producers(state(5, at=NOW - RECENT)) == []


def test_who_does_not_write_through_a_gateway_is_known_by_its_sequences() -> None:
    found = {TP: (state(5), state(6), state(7, marked=2), state(FIRST_ID + 4))}
    assert unrelayed(found, {ProducerId(6)}) == {(TP, ProducerId(5)): (0, 3)}


@pytest.mark.parametrize("each", [state(5, open_since=4, at=0), state(5, marked=2)])
def test_transactional_producers_without_a_name_do_not_move(each: ProducerState) -> None:
    assert codes(producers(each)) == [ReasonCode.PROMOTE_TRANSACTIONS]
    ids = {ProducerId(5): "payments"}
    assert codes(producers(each, ids=ids)) == []


def test_who_ended_transactions_long_ago_forbids_nothing() -> None:
    assert producers(state(5, marked=2, at=NOW - RECENT)) == []


def test_so_many_producers_do_not_fit_into_one_record() -> None:
    every = [state(FIRST_ID + n) for n in range(MOST + 1)]
    assert codes(producers(*every)) == [ReasonCode.PROMOTE_PRODUCERS]
    assert producers(*every[1:]) == []


def test_what_is_not_known_forbids_it() -> None:
    away = Answers[TopicPartition, tuple[ProducerState, ...]](
        {}, {TP: ClusterError("source: away")}
    )
    assert codes(of_producers(away, {}, NOW)) == [ReasonCode.ERROR]
    assert codes(of_committers({TP: [GROUP]}, away, {}, {}, NOW)) == [ReasonCode.ERROR]


def test_share_groups_do_not_move() -> None:
    reads = {ClientGroup("g", GroupKind.SHARE): {NAME}}
    assert codes(of_groups(reads, {NAME})) == [ReasonCode.PROMOTE_GROUP_KIND]
    assert of_groups(reads, {TopicName("other")}) == []


def test_a_streams_application_moves_with_the_topics_that_it_keeps() -> None:
    app, log = ClientGroup("app", GroupKind.STREAMS), TopicName("app-counts-changelog")
    inner, both = {app: {log}, GROUP: {log}}, {NAME, log}
    assert of_groups({app: {NAME}}, {NAME}) == []
    assert [*of_streams([app, GROUP], inner, both, None)] == []
    (why,) = of_streams([app], inner, {NAME}, None)
    assert why.code is ReasonCode.PROMOTE_STREAMS_TOPICS
    assert "streams group app" in str(why)
    assert "in app-counts-changelog" in str(why)
    barred = Reason.of(ReasonCode.STREAMS_BARRED)
    (why,) = of_streams([app, GROUP], inner, both, barred)
    assert why.code is ReasonCode.PROMOTE_GROUP_KIND
    assert "upgrade the target" in str(why)


def test_a_group_moves_with_all_that_it_reads() -> None:
    reads = {GROUP: {NAME, TopicName("u")}, ClientGroup("h"): {TopicName("u")}}
    (why,) = of_groups(reads, {NAME})
    assert why.code is ReasonCode.PROMOTE_TOGETHER
    assert "group g also reads topic u" in str(why)
    assert of_groups(reads, {NAME, TopicName("u")}) == []


def test_groups_that_commit_in_transactions_do_not_move() -> None:
    commits = {GROUP: {TP: Commit(4, pending=True)}, ClientGroup("h"): {TP: Commit(4)}}
    assert codes(of_commits(commits)) == [ReasonCode.PROMOTE_TRANSACTIONS]
    at = {TP: [GROUP]}
    states = Answers[TopicPartition, tuple[ProducerState, ...]](
        {TP: (state(5), state(6, marked=1), state(7))}, {}
    )
    ids = {ProducerId(7): "app"}
    found = [*of_committers(at, states, ids, {}, NOW)]
    assert codes(found) == [ReasonCode.PROMOTE_TRANSACTIONS] * 2
    assert "app commits offsets in t-0, where those of group g are" in str(found[0])
    (why,) = of_committers(at, states, ids, {TP: {}}, NOW)
    assert "of producer id 6" in str(why), "the source does not tell whose it is"
    later = NOW + RECENT
    assert codes(of_committers(at, states, ids, {TP: {}}, later)) == []


@pytest.mark.parametrize(
    ("groups", "forbids"), [({"other"}, False), ({"other", "g"}, True), (set(), True)]
)
def test_who_committed_for_other_groups_alone_forbids_nothing(
    groups: set[str], forbids: bool
) -> None:
    states = Answers[TopicPartition, tuple[ProducerState, ...]]({TP: (state(5, marked=1),)}, {})
    known = {TP: {ProducerId(5): groups}}
    found = codes(of_committers({TP: [GROUP]}, states, {}, known, NOW))
    assert found == [ReasonCode.PROMOTE_TRANSACTIONS] * forbids


@pytest.mark.parametrize(
    ("group", "partition"),
    [
        ("", 0),
        ("g", 3),
        ("orders-service", 17),
        ("grüße", 23),
        ("reads-1-exactly", 32),
        ("polygenelubricants", 0),
    ],
)
def test_the_partition_of_a_groups_offsets_is_known(group: str, partition: int) -> None:
    assert offsets_partition(group, 50) == partition


def test_what_the_target_lacks_and_has_too_much() -> None:
    other = TopicPartition(NAME, 1)
    assert lags({TP: 5, other: 5}, {TP: 5, other: 5}) == {}
    assert lags({TP: 5, other: 5}, {TP: 4, other: 7}) == {TP: 1, other: -2}
    assert lags({TP: 5}, {}) == {TP: 6}


def test_a_gateway_that_took_over_addresses_knows_nobody_by_ids_of_the_source() -> None:
    states: Answers[TopicPartition, tuple[ProducerState, ...]] = Answers({TP: (state(7),)}, {})
    assert codes(of_producers(states, {}, NOW)) == [ReasonCode.PROMOTE_DIRECT]
    assert codes(of_producers(states, {}, NOW, adopts=True)) == []
    other: Answers[TopicPartition, tuple[ProducerState, ...]]
    other = Answers({TP: (state(1 << 41),)}, {})
    assert codes(of_producers(other, {}, NOW, adopts=True)) == [ReasonCode.PROMOTE_DIRECT]
