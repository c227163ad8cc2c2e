"""Makes of registries are found out by reading alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.registries.registry_proxy import Body, Changed, RegistryProxy
from towpath.model.nouns import Side
from towpath.model.schemas import ALL_SUBJECTS, SchemaId, SubjectConfig, SubjectName
from towpath.registry.registry import Registry
from towpath.settings import RegistryConfig, RegistryKind

Says = Callable[[str, str, Body], Changed]
Opens = Callable[..., tuple[RegistryProxy, Registry]]
NOT_THERE = 404, {"error_code": 404, "message": "not found"}


@pytest.fixture
def opens() -> Iterator[Opens]:
    started: list[tuple[RegistryProxy, Registry]] = []

    def start(says: Says, **config: Any) -> tuple[RegistryProxy, Registry]:
        proxy = RegistryProxy("http://127.0.0.1:1", says)
        url = proxy.url + config.pop("below", "")
        made = RegistryConfig.model_validate({"url": url, **config})
        started.append((proxy, Registry(made, Side.TARGET, 2)))
        return started[-1]

    yield start
    for proxy, registry in started:
        registry.close()
        proxy.stop()


@pytest.mark.parametrize(
    ("health", "kind"),
    [
        (NOT_THERE, RegistryKind.CONFLUENT),
        ((401, {"message": "who are you"}), RegistryKind.CONFLUENT),
        ((200, {"status": "ok"}), RegistryKind.CONFLUENT),
        ((200, ["fine"]), RegistryKind.CONFLUENT),
        ((200, {"process_uptime_sec": 1, "karapace_version": "4.1.2"}), RegistryKind.KARAPACE),
        ((200, {"Karapace-Version": "3.9.0"}), RegistryKind.KARAPACE),
        ((200, {"status": {"schema_registry_ready": True}}), RegistryKind.KARAPACE),
    ],
)
def test_the_page_of_health_tells(opens: Opens, health: Changed, kind: RegistryKind) -> None:
    proxy, registry = opens(
        lambda _method, path, _body: health if path == "/_health" else NOT_THERE
    )
    assert registry.traits.kind is kind
    assert registry.traits.kind is kind
    assert proxy.asked == {"GET": 1}


def test_what_the_file_says_is_not_asked_for(opens: Opens) -> None:
    proxy, registry = opens(lambda *_: NOT_THERE, kind="serverless")
    assert registry.traits.kind is RegistryKind.SERVERLESS
    assert registry.contexts() is None
    assert not proxy.asked


def test_modes_that_mean_nothing_are_neither_read_nor_set(opens: Opens) -> None:
    proxy, registry = opens(lambda *_: (200, {"mode": "READWRITE"}), kind="karapace")
    settings, name = registry.settings, SubjectName("a")
    assert (settings.mode(name), settings.mode(), settings.mode_within(".")) == (None, None, None)
    settings.set_mode(name, "IMPORT")
    assert not proxy.asked


def test_the_url_of_apicurio_tells_and_its_ids_come_from_its_own_interface(opens: Opens) -> None:
    paths: list[str] = []

    def says(method: str, path: str, _body: Body) -> Changed:
        paths.append(f"{method} {path.partition('?')[0]}")
        if path.startswith("/apis/registry/v3/search/versions"):
            return 200, {"versions": [{"artifactId": "a", "version": "1"}]}
        if path.startswith("/apis/registry/v3"):
            return 200, {"versions": [{"version": "1", "contentId": 5, "globalId": 9}]}
        return 200, {"subject": "a", "version": 1, "id": 5, "schema": '"int"'}

    _, registry = opens(says, below="/apis/ccompat/v7", apicurio_id="global")
    assert registry.traits.kind is RegistryKind.APICURIO
    held = registry.by_id(SchemaId(9))
    assert held is not None
    assert held.text == '"int"'
    assert registry.users(SchemaId(9))[0].subject == "a"
    assert paths == [
        "GET /apis/registry/v3/search/versions",
        "GET /apis/ccompat/v7/subjects/a/versions/1",
        "GET /apis/registry/v3/groups/default/artifacts/a/versions",
        "GET /apis/registry/v3/search/versions",
    ]


def test_what_is_not_named_is_removed_before_the_rest_is_set(opens: Opens) -> None:
    asked: list[tuple[str, str, Body]] = []

    def says(method: str, path: str, body: Body) -> Changed:
        asked.append((method, path, body))
        return 200, {}

    _, registry = opens(says, kind="confluent")
    settings, now = registry.settings, SubjectConfig(None, "NONE", normalize=True)
    settings.set_config(SubjectName(":.eu:a"), SubjectConfig(None, None, normalize=True), now)
    settings.set_config(ALL_SUBJECTS, SubjectConfig(None, "FULL"), SubjectConfig())
    path = "/config/:.eu:a"
    assert asked == [
        ("DELETE", path, None),
        ("PUT", path, {"normalize": True}),
        ("PUT", "/config", {"compatibility": "FULL"}),
    ]


@pytest.mark.parametrize("by_path", [True, False])
def test_ids_of_a_context_are_looked_up_in_it_alone(opens: Opens, by_path: bool) -> None:
    """Some makes have a path for a context, others take it from a subject."""

    def says(_method: str, path: str, _body: Body) -> Changed:
        if path.startswith("/contexts/"):
            unknown = 404, {"error_code": 40403, "message": "no such schema"}
            is_there = path == "/contexts/.eu/schemas/ids/1"
            found = (200, {"schema": '"int"'}) if is_there else unknown
            return found if by_path else NOT_THERE
        if path == "/schemas/ids/1?subject=%3A.eu%3A":
            return 200, {"schema": '"int"' if not by_path else '"wrong"'}
        return NOT_THERE

    _, registry = opens(says, kind="confluent")
    held = registry.by_id(SchemaId(1), ".eu")
    assert held is not None
    assert held.text == '"int"'
    assert registry.by_id(SchemaId(2), ".eu") is None
