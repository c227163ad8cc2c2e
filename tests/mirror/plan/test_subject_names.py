"""Topics whose producers may name subjects otherwise than the file says. Pure."""

from __future__ import annotations

from typing import Any

import pytest

from towpath.mirror.plan.subject_names import unnamed_subjects
from towpath.model.nouns import TopicName
from towpath.model.schemas import SchemaId, SchemaReference, SubjectName
from towpath.schemas.observed_schemas import ObservedSchemas, SeenVersion
from towpath.settings import LinkConfig

TOPICS = [TopicName(name) for name in ("orders", "refunds", "texts")]
REGISTRIES = {"source": {"url": "http://a:8081"}, "target": {"url": "http://b:8081"}}


def config(ids: str = "translate", **more: Any) -> LinkConfig:
    return LinkConfig.model_validate(
        {
            "source": {"bootstrap": "a:9092"},
            "target": {"bootstrap": "b:9092"},
            "link": "l",
            "topics": {"include": [".*"]},
            "schemas": {**REGISTRIES, "ids": ids},
            **more,
        }
    )


def seen(*subjects: str) -> ObservedSchemas:
    """Return a registry whose subjects refer to `shop.Address`, but that itself."""
    address = SubjectName("shop.Address")
    refs = (SchemaReference("Address", address, 1),)
    names = [SubjectName(each) for each in (*subjects, address)]
    source = {
        name: {1: SeenVersion(SchemaId(at), "", () if name == address else refs)}
        for at, name in enumerate(names)
    }
    return ObservedSchemas(source=source, wanted={name: name for name in names})


def test_subjects_of_no_topic_and_topics_without_subjects_are_named_together() -> None:
    [note] = unnamed_subjects(config(), TOPICS, seen("orders-value", ":.eu:shop.Refund"))
    assert note.text.startswith(
        "subjects that fit no topic by the names TOPIC-key and TOPIC-value: 1"
        " (:.eu:shop.Refund); topics without a subject: 2 (refunds, texts); where "
    )


@pytest.mark.parametrize(
    ("told", "subjects"),
    [
        (config(), ["orders-value", "refunds-key"]),
        (config(), [f"{topic}-value" for topic in TOPICS] + ["shop.Refund"]),
        (config("keep"), ["shop.Refund"]),
        (config(changes=[{"topics": [".*"], "ids": {"value": "record"}}]), ["shop.Refund"]),
    ],
    ids=["only references", "all have subjects", "ids stay", "the file says it"],
)
def test_where_nothing_is_unsaid_nothing_is_told(told: LinkConfig, subjects: list[str]) -> None:
    assert list(unnamed_subjects(told, TOPICS, seen(*subjects))) == []
