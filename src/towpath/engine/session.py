"""The start and the stop of the Spark session."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from towpath.engine import classes, java, pythons
from towpath.engine.daemon import WORKS
from towpath.engine.encryption import BY_US, lacking
from towpath.engine.jvm import launch
from towpath.engine.master import require_answer
from towpath.engine.packages import locate
from towpath.engine.packages import settings as archive_settings
from towpath.engine.slots import SLOTS
from towpath.model.errors import SparkStartError, SparkUnencryptedError, TowpathError
from towpath.model.foreign import printed

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.sql.shuffle.partitions": "1",
    "spark.python.daemon.module": "towpath.engine.daemon",
    "spark.python.worker.faulthandler.enabled": "true",
    "spark.driver.memory": "512m",
}
"""Settings that we add where the user's spark-defaults.conf has none."""

_JAVA = "spark.driver.extraJavaOptions"
_FAST_START = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"

_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_TELLING = re.compile(r" ERROR \S+: |^Caused by: |^Exception in thread|^[\w.$]+(Exception|Error): ")
_SEPARATOR = re.compile(r"\s*[\s=:]\s*")
_STAMP = re.compile(r"^[\d/]+ [\d:]+ ERROR ")
_TOLD = 3
"""Lines of Spark's log to show when it does not start."""
_FAILURES = 4
"""Attempts at a task on `local`, where Spark's default is one; elsewhere the default is four."""


def session(
    master: str | None,
    name: str,
    parallelism: int | None = None,
    *,
    credentials: bool,
    works: Sequence[str] = (),
    rounds: int = 1,
    packages: str | None = None,
    on_allowed: Callable[[], None] = lambda: None,
) -> SparkSession:
    """Start Spark, or return the running session; the JVM's output goes to a file.

    Args:
        master: Any Spark master; `None` means this machine.
        name: The name of the application in Spark's web pages.
        parallelism: Number of cores of this machine to use; all by default.
        credentials: Whether slices will carry credentials, which must not travel unencrypted.
        works: Modules that slices need; they are imported once, before the first slice arrives.
        rounds: Number of rounds whose slices run at the same time; on this machine Spark gets that
            many threads for each slot.
        packages: Where Spark finds an archive of `towpath pack` for its workers, if they need one.
        on_allowed: Called before any connection is made, unless the start is refused.

    Raises:
        JavaError: Java is missing, or too old.
        SparkStartError: Spark did not start.
        SparkUnencryptedError: Credentials would leave this machine unencrypted.
        WorkersError: An archive for workers cannot be used with this machine.
    """
    java.candidate()
    pythons.start(master, works, packed=packages is not None)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    chosen = master or f"local[{parallelism or '*'}]"
    here = chosen.startswith("local")
    settings = _SETTINGS | (_LOOPBACK if here else {}) | (BY_US if credentials and not here else {})
    settings[_JAVA] = f"{_FAST_START} {classes.options()}"
    settings[f"spark.executorEnv.{WORKS}"] = ",".join(works)
    theirs = _defaults()
    conf = SparkConf(loadDefaults=False).setAppName(name).setMaster(chosen)
    conf.setAll([(key, settings[key]) for key in settings.keys() - theirs.keys()])
    with _apart() as log:
        try:
            if packages is not None:
                _ship(conf, packages, theirs)
            if credentials and not here:
                _require_encryption(conf, chosen)
            on_allowed()
            require_answer(master)
            if here and "-" not in chosen:
                _make_room(conf, chosen, rounds)
            launch(conf)
            return _silenced(SparkSession.builder.config(conf=conf).getOrCreate())
        except TowpathError:
            raise
        except Exception as error:  # noqa: BLE001  # for any reason, Spark did not start
            java.find()  # Java may be the reason
            raise SparkStartError(cause(log.read_text(errors="replace"), error)) from None


def _silenced(spark: SparkSession) -> SparkSession:
    """Return a session whose server of accumulators, which no slice has, ends without a word.

    Where the JVM ends first, as at a signal to all processes, it prints a stack on the terminal.
    """
    server: Any = spark.sparkContext._accumulatorServer  # noqa: SLF001  # PySpark has no setting
    server.handle_error = lambda _request, _address: None
    return spark


def _ship(conf: SparkConf, packages: str, theirs: Mapping[str, str]) -> None:
    """Start the JVM where it finds a Python by the path that the archive's has on workers."""
    template = pythons.running()
    python = template.theirs.get(pythons.PYTHONS[0]) if template else None
    conf.setAll([*archive_settings(packages, python, theirs).items()])
    if template is not None:
        locate()
        launch(conf, template.folder)


def _require_encryption(ours: SparkConf, master: str) -> None:
    """Start the JVM, which alone knows all of the user's settings, and check them."""
    launch(ours)
    settings = dict(SparkConf().getAll()) | dict(ours.getAll())
    wanted = lacking(settings)
    if wanted:
        raise SparkUnencryptedError(master, wanted)


def cause(log: str, error: Exception) -> str:
    """Return why Spark did not start: the last errors of its log, without stack traces."""
    lines = printed(log).splitlines()
    told = [_STAMP.sub("", line.strip()) for line in lines if _TELLING.search(line)]
    return "; ".join(dict.fromkeys(told[-_TOLD:])) or " ".join(printed(str(error)).splitlines()[:2])


def stop_and_wait(spark: SparkSession) -> None:
    """Stop Spark and wait until its JVM has ended."""
    gateway = spark.sparkContext._gateway  # noqa: SLF001  # PySpark shows it nowhere else
    spark.stop()
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
    pythons.stop()


def _defaults() -> dict[str, str]:
    """Return the settings of the user's spark-defaults.conf."""
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and Path(home, "conf"))
    file = Path(folder or ".", "spark-defaults.conf")
    if not folder or not file.is_file():
        return {}
    lines = (line.strip() for line in file.read_text().splitlines())
    pairs = (_SEPARATOR.split(line, maxsplit=1) for line in lines if line and line[0] != "#")
    return {pair[0]: pair[1] if len(pair) > 1 else "" for pair in pairs}


def _make_room(conf: SparkConf, master: str, rounds: int) -> None:
    """Give Spark on this machine threads for the slices of some rounds."""
    threads, _, failures = master.removeprefix("local").strip("[]").partition(",")
    slots = _processors(conf) if threads == "*" else int(threads or 1)
    conf.setMaster(f"local[{rounds * slots},{failures or _FAILURES}]").set(SLOTS, str(slots))


def _processors(conf: SparkConf) -> int:
    """Return how many processors the JVM may use, which knows the limits of a container."""
    launch(conf)
    jvm: Any = SparkContext._jvm  # noqa: SLF001
    return int(jvm.java.lang.Runtime.getRuntime().availableProcessors())


@contextmanager
def _apart() -> Iterator[Path]:
    """Redirect the output of child processes to a file; it would break the live display.

    The output of this process stays where it was. The file is deleted as soon as Spark runs, and
    only the JVM holds it open.
    """
    number, name = tempfile.mkstemp(prefix="towpath-spark-", suffix=".log")
    ours = os.dup(2)
    sys.stderr.flush()
    os.dup2(number, 2)
    try:
        with open(ours, "w", buffering=1, closefd=False) as screen, redirect_stderr(screen):
            yield Path(name)
    finally:
        os.dup2(ours, 2)
        os.close(ours)
        os.close(number)
        Path(name).unlink(missing_ok=True)
