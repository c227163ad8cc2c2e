"""What is said of clusters that do not tell, which no broker of ours is: old ones, and others."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.subjects.access_worlds import link
from towpath.access.diff_quotas import config_notes
from towpath.access.observe import observe
from towpath.cluster.admin import Admin
from towpath.cluster.admin.changes import Listing
from towpath.cluster.codes import UNSUPPORTED_VERSION, refused
from towpath.cluster.metadata import ConfigEntry, ConfigSource
from towpath.model.acl import Operation
from towpath.model.errors import UnreachableError
from towpath.model.nouns import Side
from towpath.settings import LinkConfig


class Silent(Admin):
    """A cluster that answers nothing but what it is given; the rest counts as a mistake."""

    def __init__(self, side: Side, **answers: Any) -> None:
        super().__init__(link().source, side)
        self._side, self._answers = side, answers
        self.asked: list[str] = []
        parts: Any = self
        parts.acls = SimpleNamespace(describe=self._tells("acls"), unknown_words=frozenset)
        parts.users = SimpleNamespace(describe=self._tells("credentials"))
        parts.quotas = SimpleNamespace(describe=self._tells("quotas"))
        parts.cluster = SimpleNamespace(
            configs=self._tells("cluster_configs"),
            rights=self._tells("cluster_rights"),
            broker_configs=lambda names: {
                n: v for n, v in self._answers["broker"].items() if n in names
            },
        )

    def _tells(self, name: str) -> Callable[[], Any]:
        def answer() -> Any:
            self.asked.append(name)
            found = self._answers[name]
            if isinstance(found, int):
                what, acl = f"asking for {name}", "Describe on the cluster"
                raise refused(self._side, what, found, acl=acl)
            if isinstance(found, Exception):
                raise found
            return found

        return answer


FULL = {
    "acls": Listing(frozenset()),
    "credentials": {},
    "quotas": Listing({}),
    "cluster_configs": {},
    "cluster_rights": None,
    "broker": {},
}


def look(config: LinkConfig, source: dict[str, Any], target: dict[str, Any]) -> tuple[Any, ...]:
    one = Silent(Side.SOURCE, **{**FULL, **source})
    other = Silent(Side.TARGET, **{**FULL, **target})
    return observe(one, other, config), one.asked, other.asked


def test_nothing_is_asked_that_is_not_asked_for() -> None:
    config = link().model_copy(update={"access": type(link().access)()})
    found, *asked = look(config, {}, {})
    assert asked == [["cluster_configs"], ["cluster_configs"]]
    assert (found.acls, found.users, found.quotas, found.notes) == (None, None, None, ())


def test_a_cluster_that_knows_no_such_question_is_no_problem() -> None:
    unknown = dict.fromkeys(("credentials", "quotas", "cluster_rights"), UNSUPPORTED_VERSION)
    found, *_ = look(link(users=["ann"]), {}, {**unknown, "cluster_configs": UNSUPPORTED_VERSION})
    assert (found.users, found.quotas, found.configs, found.problems) == (None, None, None, ())
    assert found.acls is not None
    assert {(note.about, note.text) for note in found.notes} == {
        (
            "access.users",
            "target: the brokers do not tell their SCRAM users (KIP-554), so none are copied",
        ),
        (
            "access.quotas",
            "target: the brokers do not tell their client quotas (KIP-546), so none are copied",
        ),
        (
            "configs",
            "target: the brokers do not tell the configs of all of them (KIP-226), so none are"
            " compared",
        ),
    }
    assert found.refusals == {}


def test_both_sides_are_asked_even_if_the_first_refuses() -> None:
    found, *_ = look(link(), {"acls": 31}, {"acls": 31, "quotas": -1, "cluster_configs": 31})
    assert [str(problem.cause) for problem in found.problems] == ["rights", "rights", "subject"]
    assert found.problems[0].text.endswith("the login needs the ACL Describe on the cluster")
    assert found.problems[1].text.endswith("; that login is mirror")
    assert [note.about for note in found.notes] == ["configs"]


def test_what_we_have_no_words_for_is_told() -> None:
    found, *_ = look(link(), {"quotas": Listing({}, ("entity group",))}, {})
    assert [note.text for note in found.notes] == [
        "source: quotas with entity group, which Towpath does not know, are not copied"
    ]


def test_a_secret_config_is_not_even_remembered() -> None:
    entries = {
        "plain": ConfigEntry("1", ConfigSource.ALL_BROKERS),
        "hidden": ConfigEntry("hunter2", ConfigSource.ALL_BROKERS, sensitive=True),
    }
    found, *_ = look(link(), {"cluster_configs": entries}, {})
    assert found.configs.source == {"plain": "1", "hidden": None}


def test_what_holds_by_itself_is_no_difference() -> None:
    """Kafka 4.1 sets min.insync.replicas for all brokers when it is formatted, 3.9 does not."""
    name = "min.insync.replicas"
    four = {"cluster_configs": {name: ConfigEntry("1", ConfigSource.ALL_BROKERS)}}
    for value, texts in (
        ("1", []),
        ("2", ["config of all brokers: 2 at the source, 1 on the target; it is not copied, so"
               " change it by hand if it should be"]),
    ):  # fmt: skip
        found, *_ = look(link(), {"broker": {name: value, "log.dirs": "/d"}}, four)
        assert [note.text for note in config_notes(found.configs)] == texts
    hidden = {"cluster_configs": {name: ConfigEntry("x", ConfigSource.ALL_BROKERS, sensitive=True)}}
    found, *_ = look(link(), {"broker": {name: "1"}}, hidden)
    assert found.configs.source == {}


def test_rights_that_changes_need_are_looked_up() -> None:
    found, *_ = look(link(users=["ann"]), {}, {"cluster_rights": frozenset({Operation.ALTER})})
    assert found.refusals == {
        "quotas": "target: the login mirror lacks the ACL AlterConfigs on the cluster; add it there"
    }


def test_a_cluster_that_does_not_answer_ends_it() -> None:
    silent = UnreachableError("source", "asking", "nobody answers")
    with pytest.raises(UnreachableError, match="nobody answers"):
        look(link(), {"acls": silent}, {})
