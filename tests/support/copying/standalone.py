"""A Spark standalone cluster: master, worker and executors are processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pyspark

from tests.support.kafka import wait_until
from tests.support.program import environment
from towpath.dev import ports

_EXECUTOR = "CoarseGrainedExecutorBackend"


_FAST_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def bare_python(folder: Path) -> Path:
    """Make an environment with Python alone, and return its Python."""
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


class Standalone:
    """A master and a worker on this machine.

    Args:
        folder: For settings, logs and the workers' folders.
        python: The Python that workers find, where that is not the one of this process.
        spark: The folder with the PySpark of the cluster, where that is not the one of this
            process.
    """

    def __init__(self, folder: Path, python: Path | None = None, spark: Path | None = None) -> None:
        self.folder = folder
        self._jars = (spark / "pyspark" if spark else Path(pyspark.__file__).parent) / "jars"
        self._python = python
        self._all: list[subprocess.Popen[bytes]] = []
        (folder / "spark-defaults.conf").write_text(
            "spark.executor.memory 512m\nspark.driver.host 127.0.0.1\n"
            "spark.driver.bindAddress 127.0.0.1\n"
            f"spark.executor.extraJavaOptions {' '.join(_FAST_START)}\n"
            "spark.authenticate true\nspark.authenticate.secret of-this-cluster\n"
            "spark.network.crypto.enabled true\n"
        )
        port, page, worker, worker_page = ports.reserve(4)
        self.pages = f"http://127.0.0.1:{page}", f"http://127.0.0.1:{worker_page}"
        self.master = f"spark://127.0.0.1:{port}"
        here = "--host", "127.0.0.1"
        self._java("master.Master", *here, "--port", str(port), "--webui-port", str(page))
        wait_until(lambda: not ports.is_free(port), "the master listens")
        self.worker = self._worker(worker, worker_page)

    def executors(self) -> list[psutil.Process]:
        """Return the executors that run."""
        return self.executors_of(self.worker)

    def executors_of(self, worker: subprocess.Popen[bytes]) -> list[psutil.Process]:
        """Return the executors of a worker."""
        children = psutil.Process(worker.pid).children()
        return [each for each in children if any(_EXECUTOR in word for word in _words(each))]

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        return self._worker(*ports.reserve(2))

    def kill9(self, worker: subprocess.Popen[bytes]) -> None:
        """Kill a worker with all of its processes, as the loss of a machine would."""
        for each in (*psutil.Process(worker.pid).children(recursive=True), worker):
            each.kill()
        worker.wait(20)
        self._all.remove(worker)

    def stop(self) -> None:
        """End all."""
        for each in reversed(self._all):
            each.send_signal(signal.SIGTERM)
            each.wait(20)

    def _worker(self, port: int, page: int) -> subprocess.Popen[bytes]:
        return self._java(
            "worker.Worker", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page),
            "--cores", "2", "--memory", "1g", "--work-dir", str(self.folder / "work"), self.master,
        )  # fmt: skip

    def _java(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        line = ["java", "-Xmx256m", *_FAST_START, "-cp", f"{self._jars}/*"]
        line += [f"org.apache.spark.deploy.{name}", *arguments]
        spark = {"SPARK_HOME": str(self._jars.parent), "SPARK_SCALA_VERSION": "2.13"}
        spark |= {"SPARK_CONF_DIR": str(self.folder), "SPARK_LOCAL_IP": "127.0.0.1"}
        env = environment(spark | self._without_towpath())
        with (self.folder / f"{name}.log").open("wb") as log:
            made = subprocess.Popen(line, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._all.append(made)
        return made

    def _without_towpath(self) -> dict[str, str]:
        """Return the variables with which workers do not find the Towpath of this process."""
        if self._python is None:
            return {}
        ours = str(Path(sys.executable).parent)
        others = [each for each in os.environ["PATH"].split(os.pathsep) if each != ours]
        path = os.pathsep.join([str(self._python.parent), *others])
        return {"PYTHONPATH": "", "PATH": path, "VIRTUAL_ENV": ""}


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
