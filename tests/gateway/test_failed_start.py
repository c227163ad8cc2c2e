"""A gateway that cannot begin says why and no more, and leaves nothing that others wait for."""

from __future__ import annotations

import socket

import pytest

from tests.support.kafka import create_topic
from tests.support.links import Link
from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.ledger.link import open_link
from towpath.settings import load

pytestmark = pytest.mark.broker


def test_one_whose_metrics_have_no_port_is_known_to_have_ended(gateway_link: Link) -> None:
    link = gateway_link
    create_topic(link.source.bootstrap, f"{link.name}.topic")
    host, port = link.gateway.split("'")[-2].split(":")
    with socket.create_server((host, int(port))):
        gateway = link.start("gateway")
        assert gateway.wait() == 2
    assert "gateway.metrics: cannot listen" in gateway.said
    for word in ("never awaited", "destroyed", "Traceback", "Exception"):
        assert word not in gateway.said
    with open_link(load(link.file)) as opened:
        book = GatewayBook(opened)
        book.begin()
        ours = [each for each in book.signs.values() if each.link == link.name]
        (sign,) = (each for each in ours if each.name != book.name)
        book.end()
    assert sign.over, "it serves nobody, so nobody waits for it"
