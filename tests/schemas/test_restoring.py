"""Between two real registries: what was changed for a moment is restored, whatever happens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.registries.registry import LocalRegistry, record
from tests.support.registries.registry_proxy import Body, Changed, RegistryProxy
from tests.support.registries.schema_worlds import Bringing, between
from towpath.plan.subject import SubjectContext
from towpath.schemas.absent import NoSchemas
from towpath.schemas.observed_schemas import ObservedSchemas

pytestmark = pytest.mark.soak
NewRegistry = Callable[..., LocalRegistry]
NewProxy = Callable[..., RegistryProxy]


@pytest.mark.parametrize("mode", [None, "READONLY"])
@pytest.mark.parametrize("after", ["keep", "translate", "left out"])
@pytest.mark.parametrize("before", ["keep", "translate"])
def test_what_a_crash_left_is_restored_whatever_the_next_file_says(
    new_registry: NewRegistry, new_proxy: NewProxy, before: str, after: str, mode: str | None
) -> None:
    ours, theirs = new_registry(), new_registry()
    for fields in (("x",), ("x", "y"), ("x", "y", "z")):
        ours.register("a", record("A", *fields))
    theirs.ask("PUT", "/config/a", {"compatibility": "FULL"})
    if mode is not None:
        theirs.ask("PUT", "/mode/a", {"mode": mode})
    if before == "translate":
        theirs.ask("PUT", "/mode", {"mode": "IMPORT"})
    sent = 0

    def die(method: str, path: str, body: Body) -> Changed:
        """After the first version, nothing more arrives of what the process does."""
        nonlocal sent
        if method == "GET":
            return body
        sent += method == "POST" and path.endswith("/versions")
        return (403, {"message": "dead"}) if sent > 1 else body

    proxy = new_proxy(theirs.url, die)
    with between(ours.url, proxy.url, ids=before) as link:
        link.sync()
        assert set(link.failed) == {"a"}
    assert (theirs.mode("a"), theirs.level("a")) in {("IMPORT", "FULL"), ("READWRITE", "NONE")}
    more = {"exclude": ["a"]} if after == "left out" else {"ids": after}
    sides = {"source": {"url": ours.url}, "target": {"url": theirs.url}}
    with Bringing({**sides, **more}, link.books) as again:
        again.settle()
    assert (theirs.mode("a"), theirs.level("a")) == (mode, "FULL")


@pytest.mark.parametrize("mode", ["READWRITE", "READONLY"])
@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_two_links_that_bring_the_same_subjects_over_at_once_agree_in_the_end(
    new_registry: NewRegistry, ids: str, mode: str
) -> None:
    ours, theirs = new_registry(), new_registry()
    names = [f"s{number:02}" for number in range(15)]
    for name in names:
        for fields in (("x",), ("x", "y"), ("x", "y", "z")):
            ours.register(name, record(name, *fields))
        ours.ask("PUT", f"/config/{name}", {"compatibility": "FULL"})
    theirs.ask("PUT", "/mode", {"mode": mode})
    start = threading.Barrier(2)

    def bring(_: int) -> tuple[object, ...]:
        with between(ours.url, theirs.url, ids=ids) as link:
            start.wait(30)
            for _ in range(8):
                if not link.sync().steps:
                    break
            found = link.look()
            return found.steps, found.problems

    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(bring, range(2))] == [((), ()), ((), ())]
    texts = [{at: text for at, (_, text) in each.schemas().items()} for each in (ours, theirs)]
    assert texts[0] == texts[1]
    assert {(theirs.mode(name), theirs.level(name)) for name in names} == {(None, "FULL")}


@pytest.mark.parametrize("within", [None, "READONLY"])
@pytest.mark.parametrize("own", [None, "READONLY"])
def test_a_target_that_is_readonly_gets_configs_and_stays_so(
    new_registry: NewRegistry, new_proxy: NewProxy, own: str | None, within: str | None
) -> None:
    ours, theirs = new_registry(), new_registry()
    ours.register("a", record("A", "x"))
    with between(ours.url, theirs.url) as link:
        link.settle()
    ours.ask("PUT", "/config/a", {"compatibility": "FULL"})
    for name, mode in (("/mode/a", own), ("/mode", within)):
        if mode is not None:
            theirs.ask("PUT", name, {"mode": mode})
    died = False

    def die(method: str, path: str, body: Body) -> Changed:
        """Nothing more arrives once configs were to be set."""
        nonlocal died
        died |= method == "PUT" and path.startswith("/config")
        return (403, {"message": "dead"}) if died and method != "GET" else body

    with Bringing({**link.config, "target": {"url": new_proxy(theirs.url, die).url}}) as dying:
        dying.sync()
        assert set(dying.failed) == {"a"}
    assert theirs.mode("a") == (None if own is within is None else "READWRITE")
    with Bringing(link.config, dying.books) as again:
        again.settle()
    assert (theirs.mode("a"), theirs.level("a")) == (own, "FULL")


@pytest.mark.parametrize("what", ["/mode/a", "/config/a"])
def test_a_registry_that_cannot_take_back_what_was_set_is_named(
    new_registry: NewRegistry, new_proxy: NewProxy, what: str
) -> None:
    ours, theirs = new_registry(), new_registry()
    for fields in (("x",), ("x", "y")):
        ours.register("a", record("A", *fields))

    def old(method: str, path: str, body: Body) -> Changed:
        lacks = method == "DELETE" and path == what
        return (404, {"error_code": 404, "message": "HTTP 404 Not Found"}) if lacks else body

    ids = "keep" if what == "/mode/a" else "translate"
    with between(ours.url, new_proxy(theirs.url, old).url, ids=ids) as link:
        link.sync()
        assert f"remove the {what.split('/')[1]} of a: HTTP 404 Not Found" in str(link.failed["a"])
        assert link.look().steps, "the next look tries it again"


def test_what_was_interrupted_elsewhere_is_told(
    new_registry: NewRegistry, new_proxy: NewProxy
) -> None:
    ours, theirs, others = new_registry(), new_registry(), new_registry()
    ours.register("a", record("A", "x"))

    def die(method: str, _path: str, body: Body) -> Changed:
        return (403, {"message": "dead"}) if method in {"POST", "DELETE"} else body

    proxy = new_proxy(theirs.url, die)
    with between(ours.url, proxy.url) as link:
        link.sync()
        assert theirs.mode("a") == "IMPORT"
    with Bringing({**link.config, "target": {"url": others.url}}, link.books) as again:
        (note,) = again.look().notes
        told = f"its registration at {proxy.url} was interrupted, and the file names another"
        assert note.text.startswith(told)
    (note,) = NoSchemas(link.books).diff(ObservedSchemas(), SubjectContext()).notes
    assert note.text.startswith("steps about 1 subject (a) were interrupted, and the file has no")


@pytest.mark.parametrize("ids", ["keep", "translate"])
def test_what_is_stopped_restores_what_it_has_changed(
    new_registry: NewRegistry, new_proxy: NewProxy, ids: str
) -> None:
    ours, theirs = new_registry(), new_registry()
    for name in ("a", "b"):
        for fields in (("x",), ("x", "y"), ("x", "y", "z")):
            ours.register(name, record(name, *fields))
    theirs.ask("PUT", "/mode/a", {"mode": "READONLY"})

    def stop(method: str, path: str, body: Body) -> Changed:
        if method == "POST" and path.endswith("/versions"):
            link.client.stop()
        return body

    with between(ours.url, new_proxy(theirs.url, stop).url, ids=ids) as link:
        link.sync()
        assert set(link.failed) == {"a", "b"}
        assert "it is asked no more, as the work was stopped" in str(link.failed["a"])
    assert [theirs.mode(name) for name in ("a", "b")] == ["READONLY", None]
    assert [theirs.level(name) for name in ("a", "b")] == [None, None]
    assert set(theirs.schemas()) == {("a", 1)}
