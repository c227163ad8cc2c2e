"""`towpath cutover` that somebody disturbs, on real clusters."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.groups import member
from tests.support.copying.inside import SharedSpark
from tests.support.cutovers import (
    LEAVE,
    NOW,
    admin_of,
    link_file,
    some,
    writing_on,
)
from tests.support.here import MASTER, Here
from tests.support.kafka import commit, consume, create_topic, produce
from tests.support.ledger.reasons import told
from tests.support.links import a_run_elsewhere
from tests.support.network.frozen import frozen_while_comparing, nothing, press_ctrl_c
from towpath.dev.broker import LocalCluster
from towpath.groups.settle import settle
from towpath.ledger.entries import Gap
from towpath.ledger.link import open_link
from towpath.model.nouns import Side, SourceOffset, TopicName, TopicPartition
from towpath.runtime.clock import now_ms
from towpath.settings import load

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


def behind(part: Callable[..., Any], then: Callable[[], object]) -> Callable[..., Any]:
    """Return a part of a cutover that ends with what somebody else does meanwhile."""

    def both(*args: Any, **options: Any) -> Any:
        done = part(*args, **options)
        then()
        return done

    return both


def test_who_begins_to_write_later_is_found(
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = new_name("cutover")
    topic = create_topic(source.bootstrap, f"{link}.orders", 2)
    produce(source.bootstrap, topic, some(0) + some(0, partition=1))
    file = link_file(tmp_path, source, target, link)

    def cut(*then: Callable[[], object]) -> tuple[int, str]:
        monkeypatch.setattr("towpath.engine.starting.Starting", lambda *_, **__: SharedSpark(*then))
        ended = here("cutover", str(file), *NOW)
        return ended.code, ended.out

    def write(first: int) -> Callable[[], object]:
        idempotent = {"enable.idempotence": True}
        return lambda: produce(source.bootstrap, topic, some(first, 10), idempotent)

    code, out = cut(write(100))
    assert code == 3, out
    assert f"{topic}-0: grew from 100 to 110 since the first look; producer " in out
    assert f"{topic}-1" not in out
    code, out = cut(nothing, write(110))
    assert code == 3, out
    assert f"{topic}-0: grew from 110 to 120 since the first look; producer " in out
    assert "; its mirror topic lacks offsets 110 to 119" in out
    assert "stop who writes, then cut over again" in out
    assert out.count(f"{topic}-0: ") == 1, out
    later = f"{link}.later"

    def somebody_goes_on() -> None:
        create_topic(source.bootstrap, later)

    code, out = cut(nothing, somebody_goes_on)
    assert code == 3, out
    assert f"{later}: the topic appeared at the source since the first look" in out
    assert "never copied" not in out
    commit(source.bootstrap, f"{link}-group", topic, 0, 120)
    file.write_text(file.read_text() + f"groups: {{include: ['{link}-.*']}}\n")
    with monkeypatch.context() as patch:
        patch.setattr("towpath.mirror.cutover.cutover.settle", behind(settle, write(120)))
        code, out = cut()
    assert code == 3, out
    assert f"{topic}-0: grew from 120 to 130 since the first look; producer " in out
    assert "; its mirror topic lacks offsets 120 to 129" in out
    assert "stop who writes, then cut over again" in out
    with open_link(load(file)) as opened:
        opened.read()
        assert opened.books.of(TopicPartition(TopicName(topic), 0)).cut is None
    code, out = cut()
    assert code == 0, out
    assert consume(target.bootstrap, topic) == consume(source.bootstrap, topic)


def test_a_group_that_could_not_be_moved_is_named_and_another_is_moved(
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    here: Here,
) -> None:
    """Somebody has started the consumers of one group on the target too early."""
    link = new_name("cutover")
    topic = create_topic(source.bootstrap, f"{link}.orders")
    produce(source.bootstrap, topic, some(0))
    for group in ("early", "waits"):
        commit(source.bootstrap, f"{link}-{group}", topic, 0, 7)
    more = f"groups: {{include: ['{link}-.*']}}\n"
    file = link_file(tmp_path, source, target, link, more)
    place = TopicPartition(TopicName(topic), 0)
    create_topic(target.bootstrap, topic)
    with member(source, f"{link}-waits", topic):
        live = here("cutover", str(file), "--dry-run", *NOW)
    named = f"1 group is still read at the source ({link}-waits: Stable): stop the clients"
    assert f"before the cutover: {named}" in " ".join(live.out.split())
    with member(target, f"{link}-early", topic):
        left = here("cutover", str(file), *NOW)
    said = " ".join(left.out.split())
    assert left.code == 3, left.said
    assert f"group {link}-early is not brought over in {place}: " in said
    assert f"group {link}-waits is not" not in said
    assert LEAVE in said
    with admin_of(target, Side.TARGET) as admin:
        assert admin.groups.committed(f"{link}-waits", [place]) == {place: 7}
        again = here("cutover", str(file), *NOW)
        assert again.code == 0, again.said
        assert admin.groups.committed(f"{link}-early", [place]) == {place: 7}
        admin.offsets.delete_records({place: 20})
    _unread_records_are_gone(here, file, place)


def _unread_records_are_gone(here: Here, file: Path, place: TopicPartition) -> None:
    """That the target may delete them does not say that their readers may miss them."""
    rehearsal = "cutover", str(file), "--dry-run", "--may-delete", *NOW
    where = f"({place}: offsets 7 to 19)"
    lost = f"13 records that the group has not read and the source still has {where}"
    link = place.topic.removesuffix(".orders")
    skips = here(*rehearsal, "--may-skip", f"{link}-early")
    said = " ".join(skips.out.split())
    assert skips.code == 3, skips.said
    assert f"note: group {link}-early: the target lacks {lost}; that is meant" in said
    assert f"group {link}-waits: the target lacks {lost}; let its clients read them" in said
    meant = here(*rehearsal, "--may-skip", f"{link}-early,{link}-waits")
    assert meant.code == 0, meant.said


def test_what_comes_between_ends_it_clearly(
    source: LocalCluster,
    lone: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run elsewhere, a target that falls silent, Ctrl-C; behind each it can be done again."""
    link = new_name("cutover")
    topic, busy = create_topic(source.bootstrap, f"{link}.orders"), f"{link}.busy"
    produce(source.bootstrap, topic, some(0))
    file = link_file(tmp_path, source, lone, link)
    assert here.run(str(file), "--until-caught-up").code == 0
    with a_run_elsewhere(file):
        refused = here("cutover", str(file), *NOW)
        with writing_on(source, create_topic(source.bootstrap, busy, 2)):
            rehearsed = here("cutover", str(file), "--dry-run", "--quiet", "1", *MASTER)
    running = f"link {link} is running (on "
    stop_it = "stop that `towpath run` first, it drains when it gets Ctrl-C or SIGTERM"
    assert refused.code == 4, refused.said
    assert rehearsed.code == 0, rehearsed.said
    for said in (refused.out, rehearsed.out):
        assert running in said
        assert stop_it in said
    assert LEAVE in refused.out
    assert "the cutover would take about" in rehearsed.out
    busy_now = f"2 partitions are written to ({busy}-0, {busy}-1): stop the producers"
    assert f"before the cutover: {busy_now}" in " ".join(rehearsed.out.split())
    assert "rehearsed, nothing was changed: no problems" in rehearsed.out
    text = file.read_text()
    file.write_text(text.replace("target: {", "target: {request_timeout: 1s, "))
    silent = frozen_while_comparing(lone, lambda: here("cutover", str(file), *NOW), monkeypatch)
    assert silent.code == 4, silent.said
    assert "verify: target: " in silent.out
    assert LEAVE in silent.out
    file.write_text(text)
    began = time.monotonic()
    stopped = frozen_while_comparing(
        lone, lambda: here("cutover", str(file), *NOW), monkeypatch, press_ctrl_c
    )
    assert time.monotonic() - began < 30, "request_timeout"
    assert stopped.code == 3, stopped.said
    assert "stopped: not everything was compared, so nothing is proven" in stopped.out
    note_gap(file, TopicPartition(TopicName(topic), 0))
    with_gap = here("cutover", str(file), *NOW)
    assert with_gap.code == 0, with_gap.said
    assert f"note: {topic}-0: source offsets 50 to 59 were never copied: expired" in with_gap.out
    with admin_of(lone, Side.TARGET) as admin:
        admin.offsets.delete_records({TopicPartition(TopicName(topic), 0): 100})
    emptied = here("cutover", str(file), *NOW)
    assert emptied.code == 3, emptied.said
    assert f"{topic}-0: the target deleted 100 records that the source still has" in emptied.out


def note_gap(file: Path, tp: TopicPartition) -> None:
    """Write down that records were lost at the source before they could be copied."""
    config = load(file)
    with open_link(config) as link:
        opened = link.ledger.books(config.link).of(tp).opened
        assert opened is not None
        gap = Gap(
            link=config.link,
            topic=tp.topic,
            partition=0,
            producer_id=opened.producer_id,
            first=SourceOffset(50),
            end=SourceOffset(60),
            why=told("expired"),
            went_on=True,
            at=now_ms(),
        )
        link.ledger.append([gap])
