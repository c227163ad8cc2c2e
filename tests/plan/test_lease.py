"""The lease of a link on a real ledger: one holder, taken over only when it is dead."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import link as config_of
from towpath.dev.broker import LocalCluster
from towpath.ledger.alive import this_host
from towpath.ledger.entries import LinkLease
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.ledger.link import OpenLink, open_link
from towpath.model.errors import LinkHeldError
from towpath.model.nouns import LinkName
from towpath.plan import lease as leases
from towpath.plan.lease import Lease, last_lease, lease_lines
from towpath.runtime.clock import now_ms
from towpath.settings import LinkConfig

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def config(source: LocalCluster, target: LocalCluster, new_name: NewName) -> LinkConfig:
    name = create_topic(source.bootstrap, new_name("leased"))
    made = config_of(source.bootstrap, target.bootstrap, name)
    return made.model_copy(update={"link": LinkName(name)})


@contextmanager
def opened(config: LinkConfig) -> Iterator[OpenLink]:
    with open_link(config) as link:
        link.prepare()
        yield link


def sign(link: OpenLink, host: str, pid: int, *, over: bool = False) -> LinkLease:
    """Write a sign of another process, as it would."""
    at = now_ms()
    made = LinkLease(
        link=link.config.link, owner=f"{host}-{pid}", command="apply", host=host, pid=pid,
        since=at, beat=at, over=over,
    )  # fmt: skip
    link.ledger.append([made], SESSIONS)
    return made


def ended_process() -> int:
    """Return the id of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_a_second_holder_is_refused_and_hears_who_holds_it(config: LinkConfig) -> None:
    with opened(config) as one, opened(config) as other:
        with Lease(one, "apply"):
            with pytest.raises(LinkHeldError) as refused, Lease(other, "cutover"):
                raise AssertionError("both hold it")
            said = str(refused.value)
            assert said.startswith(f"`towpath apply` changes the target for link {config.link} now")
            assert f"pid {os.getpid()}, since " in said
            with Lease(other, "export", work="archive") as archive:
                archive.require()
        with Lease(other, "cutover") as free:
            assert free.replaced is None, "the first one gave it back"
            free.require()


def test_of_two_that_ask_at_once_one_gets_it(config: LinkConfig) -> None:
    def take(link: OpenLink) -> bool:
        with ExitStack() as stack:
            try:
                stack.enter_context(Lease(link, "apply"))
            except LinkHeldError:
                return False
            done.append(link)
            wait_until(lambda: len(tried) == len(links) - 1, "all others were refused")
            return True

    done: list[OpenLink] = []
    tried: list[bool] = []
    with ExitStack() as stack, ThreadPoolExecutor(3) as pool:
        links = [stack.enter_context(opened(config)) for _ in range(3)]
        for future in [pool.submit(take, link) for link in links]:
            future.add_done_callback(lambda ended: tried.append(ended.result()))
        wait_until(lambda: len(tried) == len(links), "each has tried", 60)
    assert sorted(tried) == [False, False, True]


def test_a_holder_whose_process_has_ended_is_replaced_at_once(config: LinkConfig) -> None:
    pid = ended_process()
    with opened(config) as link:
        dead = sign(link, this_host(), pid)
        with Lease(link, "apply") as lease:
            assert lease.replaced == dead.holder
            assert lease.takeover.startswith(f"the lease was taken over from {dead.holder}, which")
            told = last_lease(Ledger(link.target, link.ledger._client), config.link)
            assert told is not None
            assert (told.pid, told.replaced) == (os.getpid(), dead.holder)
            assert lease_lines(told) == [
                f"lease: held by {told.holder}",
                f"lease: {told.holder} took it over from {dead.holder}, which ended without giving"
                " it back",
            ]


def test_what_status_tells_of_a_lease() -> None:
    pid = ended_process()
    now = now_ms()
    lease = LinkLease(
        link=LinkName("l"), owner="o", command="apply", host=this_host(), pid=pid,
        since=now, beat=now, over=True,
    )  # fmt: skip
    assert lease_lines(None) == lease_lines(lease) == []
    assert lease_lines(replace(lease, over=False)) == [
        f"lease: {lease.holder} ended without giving it back; the next command takes it over"
    ]
    elsewhere = replace(lease, over=False, space="processes of another container")
    assert lease_lines(elsewhere) == [f"lease: held by {lease.holder}"]
    mine = replace(lease, over=False, pid=os.getpid())
    assert lease_lines(mine) == [f"lease: held by {mine.holder}"]


def test_a_silent_holder_elsewhere_is_waited_for_and_then_replaced(
    config: LinkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_SILENCE", 1.0)
    with opened(config) as link:
        dead = sign(link, "elsewhere", 1)
        with Lease(link, "apply") as lease:
            assert lease.replaced == dead.holder


def test_a_holder_that_was_paused_changes_nothing_until_it_is_free_again(
    config: LinkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_FRESH", 0.0)
    monkeypatch.setattr(leases, "_BEAT", 0.2)
    with opened(config) as link, Lease(link, "run") as lease:
        lease.require()
        for _ in range(2):  # one that is refused gives no second sign
            sign(link, "elsewhere", 1)
        with pytest.raises(LinkHeldError, match="`towpath apply` changes the target"):
            lease.require()
        sign(link, "elsewhere", 1, over=True)
        lease.require()
        with pytest.raises(LinkHeldError), Lease(replace(link), "apply"):
            raise AssertionError("it was not taken again")


def test_apply_beside_a_run_is_refused(config: LinkConfig, tmp_path: Path, here: Here) -> None:
    file = tmp_path / "link.yaml"
    source, target = config.source.bootstrap[0], config.target.bootstrap[0]
    file.write_text(
        f"source: {{bootstrap: '{source}'}}\ntarget: {{bootstrap: '{target}'}}\n"
        f"link: {config.link}\ntopics: {{include: ['{config.link}']}}\n"
    )
    with opened(config) as link:
        with Lease(link, "run"):
            refused = here("apply", str(file), "--yes", "--output", "json")
        assert refused.code == 4, refused.said
        assert "LINK_HELD" in refused.said
        assert "`towpath run` changes the target" in refused.said
        assert not link.target.topics.describe([config.topics.target_name(config.link)])
        dead = sign(link, this_host(), ended_process())
        done = here("apply", str(file), "--yes", "--output", "json")
        assert done.code == 0, done.said
        assert str(dead.holder) in done.json["takeover"]
    told = here("status", str(file), "--output", "json")
    assert told.json["lease"]["replaced"]["pid"] == dead.pid
