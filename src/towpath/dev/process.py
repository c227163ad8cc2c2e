"""Java processes, started and stopped by their pid."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from towpath.engine import java
from towpath.model.foreign import printed
from towpath.runtime.java_classes import ClassArchive
from towpath.runtime.kept_process import LOG_LINES

# Serial GC and one compiler tier: other choices never pay off in a broker that lives for minutes.
JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms64m", "-Djava.awt.headless=true")

LOG4J2 = """rootLogger.level=INFO
rootLogger.appenderRef.c.ref=C
appender.c.type=Console
appender.c.name=C
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=[%d] %p [%t] %m (%c{1})%n
"""
LOG4J1 = """log4j.rootLogger=INFO, C
log4j.appender.C=org.apache.log4j.ConsoleAppender
log4j.appender.C.layout=org.apache.log4j.PatternLayout
log4j.appender.C.layout.ConversionPattern=[%d] %p [%t] %m (%c{1})%n
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """Identity of a process, distinct from that of a later process with the same pid."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> Identity:
        """Return the identity of the process with this pid."""
        return cls(pid, psutil.Process(pid).create_time())

    def process(self) -> psutil.Process | None:
        """Return the process if it lives, `None` if it has ended or is a zombie."""
        try:
            process = psutil.Process(self.pid)
            # The kernel counts in hundredths of a second since boot, and psutil adds the boot time.
            same = abs(process.create_time() - self.started) < 1.0
            alive = process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return None
        return process if same and alive else None

    def stop(self, patience: float = 15.0) -> None:
        """Ask the process to end; kill it if it has not ended after `patience` seconds."""
        process = self.process()
        if process is None:
            return
        _send(process, signal.SIGCONT, signal.SIGTERM)
        try:
            process.wait(patience)
        except psutil.TimeoutExpired:
            _send(process, signal.SIGKILL)
            process.wait(patience)


def _send(process: psutil.Process, *signals: signal.Signals) -> None:
    for each in signals:
        try:
            process.send_signal(each)
        except psutil.NoSuchProcess:
            return


def classes(jars: Path) -> ClassArchive:
    """Return the path of the class archive of brokers."""
    return ClassArchive("kafka", tuple(jars.glob("kafka_*.jar")))


def command(
    jars: Path,
    main: str,
    arguments: Sequence[str],
    *,
    heap: str,
    work: Path,
    options: Sequence[str] = (),
) -> list[str]:
    """Return the command line of a Java class of Kafka.

    Args:
        jars: The folder that `distribution.fetch` returned.
        main: Name of the Java class.
        arguments: Arguments of the class.
        heap: Largest heap size, such as `256m`.
        work: Folder for the log configuration.
        options: JVM options, instead of those that use the class archive.
    """
    (work / "log4j2.properties").write_text(LOG4J2)
    (work / "log4j1.properties").write_text(LOG4J1)
    return [
        str(java.find()),
        *JVM,
        *(options or classes(jars).use()),
        f"-Xmx{heap}",
        f"-Dlog4j2.configurationFile={work / 'log4j2.properties'}",
        f"-Dlog4j.configuration={(work / 'log4j1.properties').as_uri()}",
        *("-cp", f"{jars}/*", main, *arguments),
    ]


class JavaProcess:
    """A Java process whose output goes to a file, in a session of its own.

    Its own session keeps Ctrl-C, which reaches the whole foreground group, away from it: whoever
    started it decides when it stops.
    """

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                list(arguments),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.identity = Identity.of(self._process.pid)

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if the process still runs."""
        if self.running:
            os.kill(self._process.pid, number)

    def freeze(self) -> None:
        """Stop all threads of the process, and return when the last one has stopped.

        A thread that runs on another core goes on for a moment behind the signal.
        """
        self.send(signal.SIGSTOP)
        while self.running and not _all_stopped(self.identity.pid):
            pause_before_next_look()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the process; return whether it has ended."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self, patience: float = 15.0) -> None:
        """Terminate the process; kill it after `patience` seconds."""
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        if not self.wait(patience):
            self.kill()

    def kill(self) -> None:
        """Kill the process without warning, like a power failure."""
        self.send(signal.SIGKILL)
        self._process.wait()

    def forget(self) -> None:
        """Release the process, so that it outlives this one."""
        # Python would warn that the process is not waited for.
        self._process.returncode = 0

    def log_end(self) -> str:
        """Return the last lines of the log."""
        lines = printed(self.log.read_text(errors="replace")).splitlines()
        return "\n".join(lines[-LOG_LINES:])


def _all_stopped(pid: int) -> bool:
    threads = Path(f"/proc/{pid}/task")
    if not threads.is_dir():  # not on Linux
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    states = [each.read_text().rpartition(")")[2].split()[0] for each in threads.glob("*/stat")]
    return all(state in {"T", "t"} for state in states)


def pause_before_next_look() -> None:
    """Sleep briefly between two checks of a condition."""
    time.sleep(0.05)
