"""Groups that stand before the cut go back by what the first link copied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.groups import commit_with, rest, standing
from tests.support.mirror import Mirror
from tests.support.subjects.ways_back import COPIED, There, cut_over, outcomes, write
from towpath.dev.broker import LocalCluster
from towpath.groups.group_standings import look_at_groups, translated
from towpath.groups.model import GroupPosition, PositionOutcome
from towpath.ledger.link import open_link
from towpath.ledger.offsets import Exactness
from towpath.model.nouns import SourceOffset, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.settings import load

pytestmark = pytest.mark.broker
Places = dict[tuple[str, int], int]


@pytest.fixture
def there(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> There:
    """Partition 0 is identical; in partition 1, three records of others lie before the mirror."""
    made = There(Mirror(tmp_path, source, target, new_name("groups")))
    made.mirror.create(2)
    write(target, made.topic, "others", 3, 1)
    for partition in (0, 1):
        write(source, made.topic, "old", COPIED, partition)
    with open_link(made.mirror.config) as opened:
        opened.prepare()
    made.mirror.catch_up()
    cut_over(made.mirror)
    for partition in (0, 1):
        write(target, made.topic, "new", 5, partition)
    return made


def stand(cluster: LocalCluster, topic: str, places: Places) -> None:
    for (group, partition), offset in places.items():
        commit_with(cluster, group, topic, offset, "mine", partition)


def bring(mirror: Mirror, *groups: str) -> Mirror:
    """Let a link bring groups over."""
    mirror.sections = f"groups: {{include: ['{'|'.join(groups)}']}}\n"
    return mirror


def exact(found: dict[tuple[str, int], GroupPosition]) -> Places:
    """Return the exact target offsets."""
    answers = {key: each.answer for key, each in found.items()}
    return {k: a.offset for k, a in answers.items() if a and a.exactness is Exactness.EXACT}


def test_groups_before_the_cut_go_back_by_the_offset_map_of_the_first_link(
    there: There, new_name: Callable[[str], str]
) -> None:
    old, new, topic = there.mirror.source, there.mirror.target, there.topic
    early, edge, late = map(new_name, ("early", "edge", "late"))
    ahead, strange = map(new_name, ("ahead", "strange"))
    back = bring(there.link("way"), early, edge, late, ahead, strange)
    stand(new, topic, {(early, 0): 7, (early, 1): 7, (edge, 0): COPIED, (edge, 1): COPIED + 3})
    stand(new, topic, {(late, 1): 15, (ahead, 0): 8, (strange, 1): 2})
    stand(old, topic, {(early, 0): 5, (ahead, 0): 9})
    back.catch_up()

    seen = outcomes(back, write=False)
    assert [key for key, each in seen.items() if not each.due] == [(ahead, 0), (strange, 1)]
    found = outcomes(back)
    right = {(early, 0): 7, (early, 1): 4, (edge, 0): COPIED, (edge, 1): COPIED, (late, 1): 12}
    assert exact(found) == exact(seen) == right | {(ahead, 0): 8}
    for (group, partition), offset in right.items():
        assert found[group, partition].outcome is PositionOutcome.CONFIRMED
        assert standing(old, group, topic, partition) == (offset, "mine")
    assert rest(old, early, topic, 2).count(b"new0") == 2
    # Never backwards, and never over records of which nobody knows what was read.
    reasons = [each.code for key in ((ahead, 0), (strange, 1)) if (each := found[key].reason)]
    assert reasons == [ReasonCode.GROUP_AHEAD, ReasonCode.POSITION_BEFORE_MIRROR]
    assert standing(old, strange, topic, 1) is None
    tp = TopicPartition(topic, 1)
    for offset, place in ((2, None), (7, 4), (COPIED + 3, COPIED), (15, 12)):
        said = translated(back.config, {tp: SourceOffset(offset)})[tp]
        assert (said.offset if said.exactness is Exactness.EXACT else None) == place


def test_what_was_written_stays_where_nobody_can_read_the_ledger_beside_the_mirror_topic(
    there: There, new_name: Callable[[str], str]
) -> None:
    new, topic = there.mirror.target, there.topic
    early, strange = map(new_name, ("early", "strange"))
    back = bring(there.link("way"), early, strange)
    stand(new, topic, {(early, 0): 7, (early, 1): 7, (strange, 1): 2})
    back.catch_up()
    outcomes(back)
    file = back.folder / f"{back.link}.yaml"
    text = file.read_text().replace(new.bootstrap, "127.0.0.1:1").replace("30s", "1s", 1)
    file.write_text(text)
    first, second, third = look_at_groups(load(file)).report.positions
    assert {first.outcome, second.outcome} == {PositionOutcome.UNCHANGED}
    assert (first.known, second.known) == (7, 4)
    assert third.group.name == strange
    assert "what other links copied before that is not known: source: " in str(third.reason)


def test_groups_go_forth_again_by_what_both_earlier_links_copied(
    there: There, new_name: Callable[[str], str]
) -> None:
    old, new, topic = there.mirror.source, there.mirror.target, there.topic
    back = there.link("way")
    back.catch_up()
    cut_over(back)
    group = new_name("forth")
    third = there.link("third", back=False, start="earliest", more="  shared: true\n")
    bring(third, group)
    for partition in (0, 1):
        write(old, topic, "again", 1, partition)
    stand(old, topic, {(group, 0): 12, (group, 1): 4})
    third.catch_up()
    assert exact(outcomes(third)) == {(group, 0): 12, (group, 1): 7}
    assert standing(new, group, topic, 0) == (12, "mine")
    assert standing(new, group, topic, 1) == (7, "mine")
    assert [each.decode() for each in rest(new, group, topic, 2) if each].count("again0") == 2
