"""Shared fixtures. All clusters are real, started when a test first asks, and shared by all tests
and all processes of a session; `tests.support.guardian` stops them at its end.

`source` and `target` are single brokers of the newest Kafka; `version_source` and `version_target`
run a test once per version that we claim. `three_source` and `three_target` have three brokers each
(kill one with `.kill9(id)`, then `.restart(id)` before the test ends) and keep ACLs, which bind
nobody there, as each client is a super user. `secured_source` and `secured_target` ask for TLS and
SASL and hold ACLs (users in `tests.support.clusters.USERS`, certificates in `vault`). `toxiproxy`
stands before `proxied_source` and `proxied_target`: give clients their `.proxied` address, then
`toxiproxy.cut(cluster)` and `.heal(cluster)`. In the same way `refusal` stands before
`refusing_target`, and refuses producer ids of ours. Anything else comes from
`clusters.get(name, ...)`. Each is a `towpath.dev.broker.LocalCluster`: clients take `.bootstrap`,
or `.addresses` as a tuple; `.back_door` lets a super user in without a password.

Other tests use the same clusters at the same time, in other processes, except where
`tests.support.turns` says otherwise. So name topics with `new_name("orders")`, which is never twice
the same, expect anything else in listings, and mark a test `alone` that kills a broker of a shared
cluster or changes settings that are not those of a topic. Draw random things from `rng`: its seed
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

import pytest
from hypothesis import settings

from tests.support.chaos import Copiers
from tests.support.clusters import Clusters, Vault
from tests.support.guardian import Guard
from tests.support.here import Here
from tests.support.program import environment
from tests.support.refusal import Refusal
from tests.support.selection import Selection
from tests.support.toxiproxy import Toxiproxy
from tests.support.toxiproxy import fetch as fetch_toxiproxy
from tests.support.turns import Turns
from towpath.config import files
from towpath.dev import distribution, ports
from towpath.dev.broker import LocalCluster, archive_classes
from towpath.dev.settings import Security
from towpath.model import secret

SEED = int(os.environ.setdefault("TOWPATH_SEED", str(random.SystemRandom().randrange(2**32))))
"""The same in all processes of a session."""

# Compiling a function takes longer than any deadline of a single example.
settings.register_profile("towpath", deadline=None, print_blob=True)
settings.load_profile("towpath")

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
def source(clusters: Clusters) -> LocalCluster:
    return clusters.get("source")


@pytest.fixture(scope="session")
def target(clusters: Clusters) -> LocalCluster:
    return clusters.get("target")


@pytest.fixture(scope="session", params=distribution.VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def version_source(clusters: Clusters, version: str) -> LocalCluster:
    return clusters.get("source", version)


@pytest.fixture(scope="session")
def version_target(clusters: Clusters, version: str) -> LocalCluster:
    return clusters.get("target", version)


@pytest.fixture(scope="session")
def three_source(clusters: Clusters) -> LocalCluster:
    return clusters.get("three-source", brokers=3, security=Security(authorize=True))


@pytest.fixture(scope="session")
def three_target(clusters: Clusters) -> LocalCluster:
    return clusters.get("three-target", brokers=3, security=Security(authorize=True))


@pytest.fixture(scope="session")
def vault(clusters: Clusters) -> Vault:
    return clusters.once("vault", lambda: Vault.make(clusters.folder / "vault"))


@pytest.fixture(scope="session")
def secured_source(clusters: Clusters, vault: Vault) -> LocalCluster:
    return clusters.get("secured-source", security=vault.security())


@pytest.fixture(scope="session")
def secured_target(clusters: Clusters, vault: Vault) -> LocalCluster:
    return clusters.get("secured-target", security=vault.security())


@pytest.fixture(scope="session")
def toxiproxy_program() -> Path:
    program = fetch_toxiproxy()
    if program is None:
        pytest.skip("toxiproxy is built with Go, and there is no go command on PATH")
    return program


@pytest.fixture
def toxiproxy(toxiproxy_program: Path, tmp_path: Path) -> Iterator[Toxiproxy]:
    """Return the proxy; whatever the test broke is healed behind it."""
    proxy = Toxiproxy(toxiproxy_program, tmp_path / "toxiproxy.log")
    yield proxy
    proxy.stop()


@pytest.fixture
def proxied_source(clusters: Clusters, toxiproxy: Toxiproxy) -> LocalCluster:
    cluster = clusters.get("proxied-source", proxy_ports=ports.reserve(1))
    toxiproxy.stand_before(cluster)
    return cluster


@pytest.fixture
def proxied_target(clusters: Clusters, toxiproxy: Toxiproxy) -> LocalCluster:
    """Return a cluster that forgets producers of old records within a second."""
    check = {"producer.id.expiration.check.interval.ms": "1000"}
    cluster = clusters.get("proxied-target", proxy_ports=ports.reserve(1), properties=check)
    toxiproxy.stand_before(cluster)
    return cluster


@pytest.fixture
def refusal(clusters: Clusters) -> Iterator[Refusal]:
    """Return the proxy, which refuses our producer ids."""
    proxy = Refusal(clusters.get("refusing-target", proxy_ports=ports.reserve(1)))
    yield proxy
    proxy.stop()


@pytest.fixture
def refusing_target(refusal: Refusal) -> LocalCluster:
    return refusal.cluster
