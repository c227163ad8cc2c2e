"""How many requests registries get, and what one that is not answered stops."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.registries.registry import LocalRegistry, record
from tests.support.registries.registry_proxy import Body, Changed, RegistryProxy
from tests.support.registries.schema_worlds import Bringing, between
from towpath.model.schemas import SubjectName

pytestmark = pytest.mark.soak
NewRegistry = Callable[..., LocalRegistry]
NewProxy = Callable[..., RegistryProxy]


def test_unchanged_subjects_cost_one_request_at_most(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    for number in range(30):
        ours.register(f"s{number}", record(f"S{number}", "x"))
    with between(ours.url, theirs.url) as link:
        link.sync()
        link.look()
        before = link.requests
        assert link.look().steps == ()
        assert link.requests - before <= 30 + 10
        # A change is seen all the same, within two looks.
        ours.ask("PUT", "/config/s7", {"compatibility": "FULL"})
        ours.ask("PUT", "/mode/s8", {"mode": "READONLY"})
        changed = {step.about for _ in range(2) for step in link.sync().steps}
        assert changed == {"s7", "s8"}
        assert (theirs.level("s7"), theirs.mode("s8")) == ("FULL", "READONLY")


def test_of_many_subjects_few_are_asked_about_in_each_look(new_registry: NewRegistry) -> None:
    ours, theirs = new_registry(), new_registry()
    subjects, looks = 600, 20
    for number in range(subjects):
        ours.register(f"s{number}", record(f"S{number}", "x"))
    with between(ours.url, theirs.url) as link:
        link.sync()
        link.look()
        before = link.requests
        for _ in range(looks):
            assert link.look().steps == ()
        lists = 10
        # In so many looks each subject is asked for its compatibility once, and for its mode once.
        assert link.requests - before <= 2 * subjects + looks * lists
        ours.ask("PUT", "/config/s7", {"compatibility": "FULL"})
        ours.ask("PUT", "/mode/s8", {"mode": "READONLY"})
        ours.register("s9", record("S9", "x", "y"))
        assert [step.about for step in link.look().steps if step.about == "s9"] == ["s9"]
        for _ in range(looks):
            link.sync()
    assert (theirs.level("s7"), theirs.mode("s8")) == ("FULL", "READONLY")


def test_without_a_list_of_all_an_unchanged_subject_costs_one_request_a_side(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    subjects, looks = 30, 10
    for number in range(subjects):
        ours.register(f"s{number}", record(f"S{number}", "x"))
        ours.register(f"s{number}", record(f"S{number}", "x", "y"))

    def old(_method: str, path: str, body: Body) -> Changed:
        return (404, {"error_code": 404}) if path.startswith("/schemas?") else body

    with between(new_proxy(ours.url, old).url, new_proxy(theirs.url, old).url) as link:
        link.sync()
        link.look()
        before = link.requests
        for _ in range(looks):
            assert link.look().steps == ()
        # For its last version on each side, and for what is set for it at the source; in one look
        # of ten for all of its versions, so that those which were deleted are noticed.
        assert link.requests - before <= looks * (3 * subjects + 10) + 2 * 3 * subjects
        ours.ask("DELETE", "/subjects/s3/versions/1")
        seen = [link.client.observe() for _ in range(looks)]
        assert 1 not in seen[-1].source[SubjectName("s3")]


@pytest.mark.parametrize("lists", [True, False])
def test_a_subject_that_is_never_answered_stops_no_other(
    new_registry: NewRegistry, new_proxy: NewProxy, *, lists: bool
) -> None:
    ours, theirs = new_registry(), new_registry()
    for number in range(40):
        ours.register(f"s{number}", record(f"S{number}", "x"))

    def break_one(_method: str, path: str, body: Body) -> Changed:
        if path.startswith("/schemas?") and not lists:
            return 404, {"error_code": 404}
        bad = "/subjects/s5/", "/config/s5"
        return (503, {"message": "broken"}) if path.startswith(bad) else body

    proxy = new_proxy(ours.url, break_one)
    sides = {"source": {"url": proxy.url, "timeout": "300ms"}, "target": {"url": theirs.url}}
    with Bringing(sides) as link:
        found = link.sync()
        assert "HTTP 503: broken" in " ".join(problem.text for problem in found.problems)
        assert set(theirs.schemas()) == set(ours.schemas()) - {("s5", 1)}
        proxy.change = lambda _method, _path, body: body
        link.sync()
        assert (link.failed, link.look().problems) == ({}, ())
    assert theirs.schemas() == ours.schemas()


def test_a_subject_of_the_target_that_cannot_be_read_is_not_registered_anew(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs = new_registry(), new_registry()
    ours.register("address", record("Address", "zip"))
    ours.register("person", record("Person", "name"))

    def break_one(_method: str, path: str, body: Body) -> Changed:
        if path.startswith("/schemas?"):
            return 404, {"error_code": 404}
        return (403, {}) if path.startswith("/subjects/address/versions") else body

    with between(ours.url, theirs.url) as link:
        link.sync()
    with between(ours.url, new_proxy(theirs.url, break_one).url) as link:
        found = link.look()
        assert found.steps == ()
        assert {problem.about for problem in found.problems} == {"address"}
