"""A ledger that was deleted is named by `plan` and `status`, and `run` touches nothing then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kafka import Record, consume, produce
from tests.support.mirror import Mirror
from towpath.cli.main import main
from towpath.cluster.admin.producers import ProducerAdmin
from towpath.cluster.metadata import Answers
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import LinkBooks
from towpath.ledger.link import open_link
from towpath.mirror.plan.link_plan import build
from towpath.mirror.status.ledger_lost import LostEntries, lost_entries
from towpath.model.nouns import TopicName, TopicPartition


def test_its_sentence_says_what_to_do() -> None:
    one, two = (TopicPartition(TopicName("orders"), number) for number in range(2))
    text = str(LostEntries("l", (one, two)))
    assert text == (
        "the ledger (topic __towpath_ledger on the target) has no entry for records that link l"
        " wrote to 2 partitions such as orders-0; was the topic deleted, or restored from an older"
        " state? Bring it back; or let `towpath repair FILE --ledger` find in the target's logs"
        " where these partitions stand; or delete the mirror topics to have everything copied again"
    )
    assert "link l wrote to orders-0;" in str(LostEntries("l", (one,)))


@pytest.mark.broker
@pytest.mark.parametrize("forgot", [False, True], ids=["fresh", "the target forgot the producer"])
def test_records_without_an_entry_are_found(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    forgot: bool,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("forgot"))
    mirror.create(2)
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"v")] * 10)
    assert build(mirror.config).problems == ()
    mirror.catch_up()
    if forgot:  # a broker looks for old producers every ten minutes only
        monkeypatch.setattr(ProducerAdmin, "states", lambda *_, **__: Answers({}, {}))
    with open_link(mirror.config) as link:
        link.look()
        assert lost_entries(mirror.config, link.books, link.source, link.target) is None
        lost = lost_entries(mirror.config, LinkBooks(link.config.link), link.source, link.target)
    assert lost == LostEntries(mirror.topic, (TopicPartition(TopicName(mirror.topic), 0),))

    # The clusters are shared, so the ledger stays; the link just finds none of its entries there.
    monkeypatch.setattr(LinkBooks, "wants", lambda *_: False)
    plan = build(mirror.config)
    assert (plan.exit_code, [str(lost)]) == (4, [each.text for each in plan.refusals])
    assert main(["status", str(tmp_path / f"{mirror.topic}.yaml")]) == 3
    assert "has no entry for records that link" in " ".join(capsys.readouterr().out.split())
    assert len(consume(target.bootstrap, mirror.topic)) == 10
