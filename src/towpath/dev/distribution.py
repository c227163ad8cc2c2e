"""Kafka's jars from Maven Central, fetched once.

PySpark ships Ivy, whose built-in settings know Maven Central. So neither Maven nor the name of any
host is needed. A folder of jars appears whole or not at all, and a second call only looks whether
it is there.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from towpath.dev.errors import DistributionError
from towpath.engine import java
from towpath.model.foreign import printed
from towpath.runtime.home import home_folder

NEWEST = "4.4.0"
VERSIONS = ("3.9.2", "4.1.2", "4.3.1", NEWEST)
"""The Kafka versions that the tests run on, the oldest first."""
MIRROR_MAKER = "4.3.1"
"""The newest MirrorMaker 2 that Maven Central has."""

LOG4J = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")
RELOAD4J = ("org.slf4j", "slf4j-reload4j", "1.7.36")
"""Logging back ends: Kafka ships only a facade, and its log would stay empty."""

ADVICE = (
    "check the network; behind a proxy set JAVA_TOOL_OPTIONS to -Dhttps.proxyHost=..."
    " -Dhttps.proxyPort=..., for a mirror set TOWPATH_IVY_SETTINGS to an ivysettings.xml"
)

# Unused by brokers: Scala's reflection, and the cache of tiered storage.
EXCLUDED = ("scala-reflect", "caffeine")

Module = tuple[str, str, str]
"""Organisation, name and revision of a Maven artifact."""


def fetch(version: str = NEWEST) -> Path:
    """Return the folder with a Kafka broker's jars; download missing ones.

    Args:
        version: Kafka's version.

    Raises:
        DistributionError: The jars could not be fetched.
        JavaError: There is no suitable Java.
    """
    binding = RELOAD4J if version.startswith("3.") else LOG4J
    return _fetched(f"kafka-{version}", [("org.apache.kafka", "kafka_2.13", version), binding])


def fetch_mirror_maker(version: str = MIRROR_MAKER) -> Path:
    """Return the folder with the jars of MirrorMaker 2, for benchmarks."""
    modules = [("org.apache.kafka", "connect-mirror", version), LOG4J]
    return _fetched(f"mirror-maker-{version}", modules)


def fetch_tools(version: str = NEWEST) -> Path:
    """Return the folder with the jars of Kafka's command-line tools, for tests."""
    return _fetched(f"tools-{version}", [("org.apache.kafka", "kafka-tools", version), LOG4J])


def fetch_zookeeper() -> Path:
    """Return the folder with the jars of a ZooKeeper with its AdminServer, for tests.

    Kafka's jars hold the same ZooKeeper without the web server that it needs for that.
    """
    modules = [
        ("org.apache.zookeeper", "zookeeper", "3.8.4"),
        ("org.eclipse.jetty", "jetty-servlet", "9.4.53.v20231009"),
        ("com.fasterxml.jackson.core", "jackson-databind", "2.15.2"),
        ("io.dropwizard.metrics", "metrics-core", "4.1.12.1"),
        ("org.xerial.snappy", "snappy-java", "1.1.10.5"),
        RELOAD4J,
    ]
    return _fetched("zookeeper-3.8.4", modules, ("logback-classic", "logback-core"))


def fetch_for_benchmarks(name: str, modules: Sequence[Module]) -> Path:
    """Return the folder with the jars of other programs, including dependencies.

    Args:
        name: What the folder is called.
        modules: The artifacts.
    """
    return _fetched(name, [*modules], ())


def _fetched(name: str, modules: list[Module], excluded: Sequence[str] = EXCLUDED) -> Path:
    root = home_folder()
    text = _ivy_file(modules, excluded)
    folder = root / "jars" / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    if folder.exists():
        return folder
    root.mkdir(parents=True, exist_ok=True)
    with alone(root / "fetch.lock"):
        if not folder.exists():
            _retrieve(name, text, folder, root)
    return folder


def _retrieve(name: str, ivy_file: str, folder: Path, root: Path) -> None:
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix="fetching-") as scratch:
        work = Path(scratch)
        (work / "ivy.xml").write_text(ivy_file)
        command = [
            str(java.find()),
            f"-Divy.default.ivy.user.dir={root / 'ivy'}",
            "-jar",
            str(_ivy()),
            *(
                ("-settings", settings)
                if (settings := os.environ.get("TOWPATH_IVY_SETTINGS"))
                else ()
            ),
            *("-cache", str(root / "ivy"), "-ivy", str(work / "ivy.xml"), "-confs", "default"),
            *("-retrieve", str(work / "lib/[artifact]-[revision].[ext]")),
        ]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=work)
        if answer.returncode or not any((work / "lib").glob("*.jar")):
            tail = "\n".join(printed(answer.stdout + answer.stderr).splitlines()[-15:])
            raise DistributionError(
                f"the jars of {name} could not be fetched from Maven Central:\n{tail}\n", ADVICE
            )
        shutil.move(work / "lib", folder)


def _ivy_file(modules: list[Module], excluded: Sequence[str]) -> str:
    dependencies = "\n".join(
        f'    <dependency org="{org}" name="{name}" rev="{revision}" conf="default->default"/>'
        for org, name, revision in modules
    )
    excludes = "\n".join(f'    <exclude artifact="{name}"/>' for name in excluded)
    return f"""<ivy-module version="2.0">
  <info organisation="towpath" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
{excludes}
  </dependencies>
</ivy-module>
"""


def _ivy() -> Path:
    spec = importlib.util.find_spec("pyspark")
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        for jar in sorted(Path(folder).glob("jars/ivy-*.jar")):
            return jar
    raise DistributionError(
        "PySpark's ivy jar was not found", "install towpath with its locked requirements"
    )


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock within the context; the kernel releases it if this process dies."""
    with path.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
