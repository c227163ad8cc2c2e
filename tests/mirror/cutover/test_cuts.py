"""What a cutover writes into the ledger, and what is said of it later. Pure."""

from __future__ import annotations

from dataclasses import replace

from tests.support.ledger.standings import ROW
from towpath.mirror.cutover.cuts import cuts
from towpath.mirror.status.cutovers import cutovers
from towpath.mirror.status.partition_status import State
from towpath.model.nouns import LinkName

LINK = LinkName("l")


def test_each_partition_of_the_file_is_cut_where_its_copy_ends() -> None:
    unopened = replace(ROW, partition=1, producer_id=-1)
    excluded = replace(ROW, partition=2, state=State.EXCLUDED)
    [cut] = cuts(LINK, [ROW, unopened, excluded], ())
    assert (cut.tp, cut.producer_id, cut.source_end) == (ROW.tp, 7, 10)
    assert (cut.target_end, cut.records) == (10, 10)


def test_a_second_cutover_takes_nothing_from_the_clients() -> None:
    """But where they have not written yet, copied records are judged strictly up to the new end."""
    [first] = cuts(LINK, [ROW], ())
    later = replace(ROW, target_end=30, source_end=20, records=20, cut=first)
    [kept] = cuts(LINK, [later], {ROW.tp})
    assert (kept.target_end, kept.records, kept.source_end) == (10, 10, 20)
    [moved] = cuts(LINK, [later], ())
    assert (moved.target_end, moved.records) == (30, 20)


def test_what_the_link_copied_since_is_not_the_clients_own() -> None:
    [cut] = cuts(LINK, [ROW], ())
    row = replace(ROW, cut=replace(cut, at=1795348286285))
    assert cutovers([ROW]) == ""
    unknown = cutovers([replace(row, target_log_end=-1)])
    assert unknown == "1 partition cut over on 2026-11-22T11:51:26Z"
    since = replace(row, target_log_end=1214 + 5, records=15)
    assert cutovers([ROW, since]) == (
        "1,204 offsets behind the cutover of 2026-11-22T11:51:26Z are the clients' own"
    )
    promoted = replace(since, state=State.PROMOTED)
    assert cutovers([promoted]) == (
        "1,204 offsets since the promotion of 2026-11-22T11:51:26Z are of clients and of fences"
    )
