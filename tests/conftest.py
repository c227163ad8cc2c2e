"""Shared fixtures. All clusters are real, started when a test first asks, and shared by all tests
and all processes of a session; `tests.support.session.guardian` stops them at its end.

`source` and `target` are single brokers of the newest Kafka. `lone` is one that a test has to
itself, to stop, freeze or change it; so is `three`, which has three brokers (kill one with
`.kill9(id)`, then `.restart(id)` before the test ends) and keeps ACLs, which bind nobody there.
`secured_source` and `secured_target` ask for TLS and SASL and hold ACLs (users in
`tests.support.clusters.fleet.USERS`, certificates in `vault`). `version_target`, `pair` and their
secured kin are of the newest Kafka and of older ones; `pytest -k 3.9.2` plays the contract of that
version, `old` gives its cluster. `toxiproxy` stands
before `source` and `lone`: give clients the address of `cluster.through("PROXIED")`, then
`toxiproxy.cut(cluster)` and `.heal(cluster)`. In the same way `refusal` stands before `target`, and
refuses producer ids of ours. All ways into a cluster stand in `tests.support.clusters.fleet`. Each
is a `towpath.dev.broker.LocalCluster`: clients take `.bootstrap`, or `.addresses` as a tuple;
`.back_door` lets a super user in without a password.

Other tests use the same clusters at the same time, in other processes, except where
`tests.support.clusters.turns` says otherwise. So name topics with `new_name("orders")`, which is
never twice the same, expect anything else in listings, and mark a test `alone` that kills a broker
of a shared cluster or changes configs that are not those of a topic; `alone("quotas")` is enough
for quotas. Give rights with `tests.support.clusters.rights`, and to `mirror` none on a whole
cluster, as all tests have the same users. Draw random things from `rng`: its seed
stands in the header of the run, and TOWPATH_SEED repeats it. Records come and go through librdkafka
by `tests.support.kafka` (`create_topic`, `produce`, `consume`, `raw_batches`). `here` runs
`towpath` in this process, which takes less time than a `tests.support.program.Program`, where
nobody must stop, kill or watch it. A process that a test leaves behind fails the session. Mark a
test of brokers with `@pytest.mark.broker`; README.md tells what `soak` and `chaos` mean. A chaos
scene goes on for `soak_seconds`, or takes its short form where that is 0.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# isort: split
from tests.support.session.garbage import Garbage  # before anything large

# isort: split
from tests.support.clusters import fleet
from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.certificates import Vault
from tests.support.clusters.clusters import Clusters
from tests.support.clusters.keys import OLD as OLD_PASSWORD
from tests.support.clusters.keys import Keys
from tests.support.clusters.turns import Turns
from tests.support.copying.chaos import Copiers, soak_rounds
from tests.support.here import Here
from tests.support.json_outputs import ShownResults
from tests.support.network.refusal import Refusal
from tests.support.network.toxiproxy import Toxiproxy
from tests.support.network.toxiproxy import fetch as fetch_toxiproxy
from tests.support.objects.azurite import AzureStore
from tests.support.objects.azurite import fetch as fetch_azurite
from tests.support.objects.buckets import Buckets, StoreFront
from tests.support.objects.buckets import fetch as fetch_buckets
from tests.support.objects.google import GoogleFront, GoogleStore
from tests.support.objects.google import fetch as fetch_google
from tests.support.program import environment
from tests.support.registries.registry import LocalRegistry
from tests.support.registries.registry import fetch as fetch_registry
from tests.support.registries.registry_proxy import RegistryProxy
from tests.support.session import selection
from tests.support.session.guardian import Guard
from tests.support.session.selection import Selection
from towpath.dev import distribution
from towpath.dev.broker import archive_classes
from towpath.model import secret
from towpath.settings import files

ShownResults()  # before a test imports a command

# xdist tells its width to its workers; what is piped has none.
os.environ.pop("COLUMNS", None)
SEED = int(os.environ.setdefault("TOWPATH_SEED", str(random.SystemRandom().randrange(2**32))))
"""The same in all processes of a session."""

# Compiling a function takes longer than any deadline of a single example.
settings.register_profile("towpath", deadline=None, print_blob=True, max_examples=25)
settings.register_profile("soak", settings.get_profile("towpath"), max_examples=500)
settings.register_profile("quick", settings.get_profile("towpath"), max_examples=10)
IS_LONG = selection.soak_seconds() or soak_rounds()
settings.load_profile(os.environ.get("TOWPATH_EXAMPLES") or ("soak" if IS_LONG else "towpath"))

OLDEST, *BETWEEN, NEWEST = distribution.VERSIONS
VERSIONS = (NEWEST, OLDEST, *(pytest.param(each, marks=pytest.mark.soak) for each in BETWEEN))
"""Whatever the newest Kafka does, the oldest one does in every session, the others in a soak."""
WAYS = (
    NEWEST, f"from {OLDEST}", f"to {OLDEST}",
    *(pytest.param(f"{way} {version}", marks=pytest.mark.soak)
      for version in BETWEEN for way in ("from", "to")),
)  # fmt: skip
Old = Callable[[str], SharedCluster]
Pair = tuple[SharedCluster, SharedCluster]

SELECTION = Selection(SEED)
FOLDER = pytest.StashKey[Path]()
"""What the processes of a session share."""


def pytest_report_header() -> str:
    return f"TOWPATH_SEED={SEED}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--scenes", choices=("one", "all"), default="all",
        help="play one chaos scene, chosen by TOWPATH_SEED, or all that are selected",
    )  # fmt: skip


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SELECTION)
    config.pluginmanager.register(Garbage())
    if config.option.collectonly:
        return
    own: Path = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    is_worker = hasattr(config, "workerinput")
    config.stash[FOLDER] = folder = (own.parent if is_worker else own) / "shared"
    folder.mkdir(exist_ok=True)
    config.pluginmanager.register(Turns(folder))
    if not is_worker:
        config.pluginmanager.register(Guard(folder))


@pytest.fixture(autouse=True)
def no_secret_of_another_test() -> Iterator[None]:
    """Let the secrets of one test mask nothing in the next one."""
    before = dict(secret._known)
    yield
    secret._known.clear()
    secret._known.update(before)
    files._FILES.forget()


@pytest.fixture(scope="session", autouse=True)
def archived_classes(request: pytest.FixtureRequest) -> None:
    """Let Spark write the archive of its classes where there is none.

    Else every JVM writes one as it ends, for ten seconds, until the first is old enough.
    """
    if any(item.get_closest_marker("spark") for item in request.session.items):
        from towpath.engine.classes import archive

        if not archive().present:
            warm = [sys.executable, "-m", "towpath.dev.warm"]
            subprocess.run(warm, env=environment(), check=True)


@pytest.fixture(scope="session", autouse=True)
def no_spark_left() -> Iterator[None]:
    """Stop Spark where a test started it in this process, before the guardian kills its JVM."""
    yield
    if "pyspark.sql" in sys.modules:
        from pyspark.sql import SparkSession

        from towpath.engine.session import stop_and_wait

        if SparkSession._instantiatedSession is not None:
            stop_and_wait(SparkSession._instantiatedSession)


@pytest.fixture
def copiers() -> Iterator[Copiers]:
    """Return copiers in processes of their own; those that the test leaves are killed."""
    made = Copiers()
    yield made
    made.kill_all()


@pytest.fixture
def here(capfd: pytest.CaptureFixture[str]) -> Here:
    """Return what runs `towpath` in this process."""
    return Here(capfd)


@pytest.fixture(scope="session")
def seed() -> int:
    return SEED


@pytest.fixture
def soak_seconds() -> int:
    return SELECTION.seconds_of_a_scene()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Return a generator that gives each test the same numbers for the same seed."""
    return random.Random(f"{SEED}:{request.node.nodeid}")


@pytest.fixture(scope="session")
def new_name(worker_id: str) -> Callable[[str], str]:
    """Return a function that makes a name unique in this session."""
    used: dict[str, int] = {}
    # As in orders-1 where there is one process, else orders-1a, orders-1b.
    process = chr(ord("a") + int(worker_id.removeprefix("gw"))) if worker_id != "master" else ""

    def name(prefix: str) -> str:
        used[prefix] = used.get(prefix, 0) + 1
        return f"{prefix}-{used[prefix]}{process}"

    return name


@pytest.fixture(scope="session")
def clusters(pytestconfig: pytest.Config) -> Clusters:
    archive_classes()
    return Clusters(pytestconfig.stash[FOLDER])


@pytest.fixture(scope="session")
def source(clusters: Clusters) -> SharedCluster:
    return clusters.get("source", listeners=fleet.PLAIN)


@pytest.fixture(scope="session")
def target(clusters: Clusters) -> SharedCluster:
    return clusters.get("target", listeners=fleet.PLAIN)


@pytest.fixture(scope="session")
def keys(clusters: Clusters) -> Keys:
    """Return what the listener `ROTATING` of `lone` and its clients have."""
    return clusters.once("keys", lambda: Keys(clusters.folder / "keys"))


@pytest.fixture(scope="session")
def lone(clusters: Clusters, keys: Keys) -> SharedCluster:
    return clusters.get("lone", **fleet.lone(keys.served, keys.trusted, OLD_PASSWORD))


@pytest.fixture
def new_registry(clusters: Clusters, tmp_path: Path) -> Iterator[Callable[..., LocalRegistry]]:
    """Return what starts a schema registry for this test alone."""
    program = clusters.once("registry-program", fetch_registry)
    if program is None:
        pytest.skip("the schema registry is built with Go, and there is none")
    started: list[LocalRegistry] = []

    def start(**options: Any) -> LocalRegistry:
        folder = tmp_path / f"registry-{len(started)}"
        try:
            started.append(LocalRegistry(program, folder, **options))
        except AssertionError:  # seen once on a fresh machine, it then says why; it is not ours
            started.append(LocalRegistry(program, folder, **options))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture(scope="session")
def buckets_program(clusters: Clusters) -> Path:
    program = clusters.once("buckets-program", fetch_buckets)
    if program is None:
        pytest.skip("the S3 store is built with Go, and there is no go command on PATH")
    return program


@pytest.fixture(scope="session")
def buckets(buckets_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buckets]:
    """Return an S3 store that the tests of this process share; `.new()` makes a bucket."""
    store = Buckets(buckets_program, tmp_path_factory.mktemp("buckets"))
    yield store
    store.stop()


@pytest.fixture
def own_buckets(buckets_program: Path, tmp_path: Path) -> Iterator[Buckets]:
    """Return an S3 store for this test alone, which may stop and start it."""
    store = Buckets(buckets_program, tmp_path / "buckets")
    yield store
    store.stop()


@pytest.fixture
def front(buckets: Buckets) -> Iterator[StoreFront]:
    """Return a proxy before `buckets` that notes requests, and may answer itself."""
    made = StoreFront(buckets.port)
    yield made
    made.stop()


@pytest.fixture(scope="session")
def google_program(clusters: Clusters) -> Path:
    program = clusters.once("google-program", fetch_google)
    if program is None:
        pytest.skip("the Google store is built with Go, and there is no go command on PATH")
    return program


@pytest.fixture(scope="session")
def google(google_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoogleStore]:
    """Return a Google store that the tests of this process share; `.new()` makes a bucket."""
    made = GoogleStore(google_program, tmp_path_factory.mktemp("google"))
    yield made
    made.stop()


@pytest.fixture
def google_front(google: GoogleStore) -> Iterator[GoogleFront]:
    """Return a proxy before `google` that notes requests, and may answer itself."""
    made = GoogleFront(google.port)
    yield made
    made.stop()


@pytest.fixture(scope="session")
def azure(clusters: Clusters, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureStore]:
    """Return an Azure store that the tests of this process share; `.new()` makes a container."""
    program = clusters.once("azurite-program", fetch_azurite)
    if program is None:
        pytest.skip("Azurite runs with Node.js, and there is no npm command on PATH")
    made = AzureStore(program, tmp_path_factory.mktemp("azure"))
    yield made
    made.stop()


@pytest.fixture
def azure_front(azure: AzureStore) -> Iterator[StoreFront]:
    """Return a proxy before `azure` that notes requests, and may answer itself."""
    made = StoreFront(azure.port)
    yield made
    made.stop()


@pytest.fixture
def new_proxy() -> Iterator[Callable[..., RegistryProxy]]:
    """Return what puts a proxy before a schema registry, for this test alone."""
    started: list[RegistryProxy] = []

    def start(url: str, *change: Any) -> RegistryProxy:
        started.append(RegistryProxy(url, *change))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture(scope="session")
def three(clusters: Clusters) -> SharedCluster:
    return clusters.get("three", **fleet.three())


@pytest.fixture(scope="session")
def three_more(clusters: Clusters) -> SharedCluster:
    return clusters.get("three-more", **fleet.three())


@pytest.fixture(scope="session")
def vault(clusters: Clusters) -> Vault:
    return clusters.once("vault", lambda: Vault.make(clusters.folder / "vault"))


@pytest.fixture(scope="session")
def secured_source(clusters: Clusters, vault: Vault) -> SharedCluster:
    return clusters.get("secured-source", **fleet.secured(vault)).through("SECURED")


@pytest.fixture(scope="session")
def secured_target(clusters: Clusters, vault: Vault) -> SharedCluster:
    return clusters.get("secured-target", **fleet.secured(vault)).through("SECURED")


@pytest.fixture(scope="session")
def old(clusters: Clusters, vault: Vault) -> Old:
    """Return what gives a cluster of an older version; it has all ways in."""
    return lambda version: clusters.get("old", version, **fleet.secured(vault))


@pytest.fixture(scope="session")
def oldest(old: Old) -> SharedCluster:
    return old(OLDEST)


@pytest.fixture(params=VERSIONS)
def version_target(
    request: pytest.FixtureRequest, target: SharedCluster, old: Old
) -> SharedCluster:
    return target if request.param == NEWEST else old(request.param)


@pytest.fixture(params=VERSIONS)
def secured_version(
    request: pytest.FixtureRequest, secured_target: SharedCluster, old: Old
) -> SharedCluster:
    is_newest = request.param == NEWEST
    return secured_target if is_newest else old(request.param).through("SECURED")


@pytest.fixture(params=WAYS)
def pair(
    request: pytest.FixtureRequest, source: SharedCluster, target: SharedCluster, old: Old
) -> Pair:
    """Return a source and a target, one of which may be of an older version."""
    return _pair(request.param, (source, target), old)


@pytest.fixture(params=WAYS)
def secured_pair(
    request: pytest.FixtureRequest,
    secured_source: SharedCluster,
    secured_target: SharedCluster,
    old: Old,
) -> Pair:
    """Return a source and a target that ask for a login, one of which may be older."""
    both = (secured_source, secured_target)
    return _pair(request.param, both, lambda version: old(version).through("SECURED"))


def _pair(way: str, newest: Pair, old: Old) -> Pair:
    kind, _, version = way.partition(" ")
    if kind == "from":
        return old(version), newest[1]
    return (newest[0], old(version)) if kind == "to" else newest


@pytest.fixture(scope="session")
def toxiproxy_program() -> Path:
    program = fetch_toxiproxy()
    if program is None:
        pytest.skip("toxiproxy is built with Go, and there is no go command on PATH")
    return program


@pytest.fixture
def line(toxiproxy_program: Path, tmp_path: Path) -> Iterator[Toxiproxy]:
    """Return a proxy that stands before nothing yet."""
    proxy = Toxiproxy(toxiproxy_program, tmp_path / "toxiproxy.log")
    yield proxy
    proxy.stop()


@pytest.fixture
def toxiproxy(
    toxiproxy_program: Path, tmp_path: Path, source: SharedCluster, lone: SharedCluster
) -> Iterator[Toxiproxy]:
    """Return the proxy before `source` and `lone`."""
    proxy = Toxiproxy(toxiproxy_program, tmp_path / "toxiproxy.log")
    for cluster in (source, lone):
        proxy.stand_before(cluster)
    yield proxy
    proxy.stop()


@pytest.fixture
def refusal(target: SharedCluster) -> Iterator[Refusal]:
    """Return the proxy before `target`, which refuses our producer ids."""
    proxy = Refusal(target)
    yield proxy
    proxy.stop()


@pytest.fixture
def refusing_target(refusal: Refusal) -> SharedCluster:
    return refusal.cluster
