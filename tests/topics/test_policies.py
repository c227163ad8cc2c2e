"""An empty cleanup policy keeps all records on the mirror topic, too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.subjects.topic_models import (
    DEFAULTS,
    compare,
    created,
    notes,
    observed,
    only,
    topic,
)
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import OwnedTopics
from towpath.topics.policies import NOTE
from towpath.topics.steps import SetConfigs

EMPTY = {"cleanup.policy": ""}
FOR_EVER = {"retention.ms": "-1", "retention.bytes": "-1"}


def older(*source: Topic, target: tuple[Topic, ...] = ()) -> ObservedTopics:
    """Return a target that does not take the empty policy."""
    return replace(observed(*source, target=target), takes_empty_policy=False)


@pytest.mark.parametrize("own", [{}, EMPTY], ids=["the broker's default", "of the topic"])
def test_where_the_target_takes_it_the_copy_has_it_itself(own: dict[str, str]) -> None:
    made = created(compare(observed(topic(own=own, configs=EMPTY)), start="earliest"))
    assert (made.configs, made.held) == (EMPTY, {})


def test_a_default_of_the_source_is_named_as_the_reason() -> None:
    assert notes(compare(observed(topic(configs=EMPTY)), start="earliest")) == [
        "cleanup.policy is set to nothing, as on the source: the target's default is delete"
    ]


@pytest.mark.parametrize("own", [{}, {"retention.ms": "5"}, {**EMPTY, "retention.bytes": "7"}])
@pytest.mark.parametrize("default", ["delete", "compact"])
def test_elsewhere_the_copy_deletes_nothing(own: dict[str, str], default: str) -> None:
    defaults = {**DEFAULTS, "cleanup.policy": default, "retention.bytes": "9"}
    seen = replace(older(topic(own=own, configs=EMPTY)), defaults=defaults)
    found = compare(seen, start="earliest")
    made = created(found)
    assert {**defaults, **made.configs} == {**defaults, **FOR_EVER, "cleanup.policy": "delete"}
    assert made.held == {}
    assert notes(found)[0] == NOTE


def test_a_copy_that_is_there_is_mended() -> None:
    there = topic(own=EMPTY)
    step = only(compare(older(topic(configs=EMPTY), target=(there,)), start="earliest"))
    assert isinstance(step, SetConfigs)
    assert step.set == {"cleanup.policy": "delete", "retention.ms": "-1"}


def test_an_empty_default_of_the_target_is_no_policy_of_the_source() -> None:
    seen = replace(observed(topic()), defaults={**DEFAULTS, **EMPTY})
    found = compare(seen, start="latest")
    assert created(found).configs == {"cleanup.policy": "delete"}
    assert notes(found) == [
        "cleanup.policy is set to delete, as on the source: the target's default is nothing"
    ]


def test_a_copy_stays_as_it_is_afterwards() -> None:
    for seen in (observed, older):
        before = seen(topic(configs=EMPTY))
        made = created(compare(before, start="earliest"))
        there = topic(own=made.configs)
        ours = OwnedTopics.of([made])
        after = seen(topic(configs=EMPTY), target=(there,))
        assert not compare(after, start="earliest", ours=ours).steps


def test_smaller_segments_of_the_target_do_not_let_old_records_go_earlier() -> None:
    cuts = {"segment.bytes": "1073741824", "segment.ms": "604800000"}
    finer = {"segment.bytes": "1048576", "segment.ms": "3600000"}
    known = frozenset({*observed().known, *cuts})
    seen = replace(observed(topic(configs=cuts)), defaults={**DEFAULTS, **finer}, known=known)
    assert created(compare(seen)).configs == cuts
    coarser = replace(seen, source=(topic(configs=finer),), defaults={**DEFAULTS, **cuts})
    assert created(compare(coarser)).configs == {}
    compacted = topic(configs={**cuts, "cleanup.policy": "compact"})
    assert created(compare(replace(seen, source=(compacted,)))).configs == {
        "cleanup.policy": "compact"
    }
