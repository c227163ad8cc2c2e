"""Producers that write to the source without a gateway that took over its addresses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import create_topic
from tests.support.links import Link
from towpath.cluster.data.client import Client
from towpath.gateway.producer_eras import FIRST_ID, canonical, is_adopted, is_given
from towpath.gateway.promotion.direct_writers import require_no_direct_writers
from towpath.gateway.promotion.gateway_part import GatewayPart
from towpath.gateway.promotion.promotion_record import record_of
from towpath.gateway.promotion.promotion_scope import scope_of
from towpath.gateway.promotion.undo_errors import UndoneError
from towpath.gateway.routes import Routes
from towpath.gateway.transaction_routes import TransactionRoutes
from towpath.ledger.entries import (
    GatewayCall,
    GatewayReply,
    GatewayTask,
    Promotion,
    PromotionStage,
)
from towpath.ledger.link import OpenLink, open_link
from towpath.model.nouns import LinkName, Side, TopicName, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.runtime.clock import now_ms
from towpath.settings import load
from towpath.wire import plain

pytestmark = pytest.mark.broker
DIRECT = (1 << 39) + 8
"""An id that the source could give, and never gets to: another test's transactional id may have 8.
"""
LONG_AGO = 3_600_000
"""Milliseconds; brokers forget producers by the time of their records, those of a day ago soon."""


def write(link: OpenLink, tp: TopicPartition, producer: int, sequence: int) -> None:
    batch = plain.encode(
        [plain.Record(b"k", b"v", (), now_ms() - LONG_AGO)],
        producer_id=producer,
        producer_epoch=0,
        base_sequence=sequence,
    )
    with Client(link.config.source, Side.SOURCE, link.source) as client:
        client.produce(tp, batch)


@pytest.mark.parametrize(
    ("is_asked", "first"), [(is_adopted, 1 << 39), (is_given, FIRST_ID + (1 << 39))]
)
def test_who_writes_without_the_gateway_is_found_by_what_grows(
    tmp_path: Path,
    source: SharedCluster,
    target: SharedCluster,
    new_name: Callable[[str], str],
    is_asked: Callable[[int], bool],
    first: int,
) -> None:
    """Its id is one that the source gives, or one that a gateway of another link gave."""
    made = Link(tmp_path, source, target, new_name("direct"), timeout="10s")
    topic = create_topic(source.bootstrap, f"{made.name}.t", 1)
    tp, routes = TopicPartition(TopicName(topic), 0), Routes()
    relayed, direct = first + 7, first + 8
    part = GatewayPart(cast("Any", SimpleNamespace(routes=routes)))

    def ask(task: GatewayTask) -> list[GatewayReply]:
        link = LinkName("l")
        call = GatewayCall(link=link, request="", leader="", number=1, task=task.value)
        part.do(call)
        return [part.reply(call, "gateway")]

    at: Any = SimpleNamespace(fleet=SimpleNamespace(ask=ask), stop=threading.Event())
    with open_link(load(made.file)) as link, open_link(load(made.file)) as other:
        for producer in (relayed, direct):
            write(link, tp, producer, 0)
        require_no_direct_writers(at, link, [tp], is_asked)  # both are known, and silent

        def write_on(producer: int, sequence: int) -> None:
            while routes.noted is None:
                time.sleep(0.01)
            time.sleep(1.0)
            if producer == relayed:
                routes.noted.add(canonical(producer))
            write(other, tp, producer, sequence)

        def watched(producer: int, sequence: int) -> None:
            writer = threading.Thread(target=write_on, args=(producer, sequence))
            writer.start()
            try:
                require_no_direct_writers(at, link, [tp], is_asked)
            finally:
                writer.join()

        watched(relayed, 1)
        with pytest.raises(UndoneError) as found:
            watched(direct, 1)
        assert found.value.why.code is ReasonCode.PROMOTE_DIRECT
        assert routes.noted is None


def test_who_writes_records_of_long_ago_is_found_by_what_grows(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> None:
    """Brokers tell of a producer the time of its records, which is the client's own."""
    made = Link(tmp_path, source, target, new_name("past"), timeout="10s")
    topic = TopicName(create_topic(source.bootstrap, f"{made.name}.t", 1))
    create_topic(target.bootstrap, topic, 1)
    tp = TopicPartition(topic, 0)
    asked = Promotion(
        link=LinkName(made.name),
        name="p",
        state=PromotionStage.RUNNING.value,
        topics=(topic,),
        dry_run=False,
        user="u",
        host="h",
        at=1,
    )
    with open_link(load(made.file)) as link:
        link.ledger.create()
        write(link, tp, DIRECT, 0)
        scope = scope_of(link, [topic], set(), TransactionRoutes())
        assert ReasonCode.PROMOTE_DIRECT not in {each.code for each in scope.forbidden}
        assert record_of(asked, link, scope, {tp: 1}, {}, 5.0).topics, "it is silent"
        write(link, tp, DIRECT, 1)
        with pytest.raises(UndoneError) as found:
            record_of(asked, link, scope, {tp: 2}, {}, 5.0)
    assert found.value.why.code is ReasonCode.PROMOTE_DIRECT
