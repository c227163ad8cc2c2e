"""An archive of the classes that a JVM loads, which halves the time that it needs to start.

A JVM writes the archive when it ends (dynamic class data sharing, JEP 350), so the second one is
the first that gains. An archive of another Java or another class path is passed over by the JVM.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from towpath.model.clock import now_ms
from towpath.model.home import home_folder

_SETTLED = 60.0
"""Seconds after which a JVM has certainly finished writing."""
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive of one program, in the cache folder.

    Attributes:
        program: Its name, for people.
        jars: What it loads its classes from; written anew they make another archive.
    """

    program: str
    jars: tuple[Path, ...]

    @property
    def file(self) -> Path:
        """Where the archive for this Java is, or will be."""
        return home_folder() / "classes" / f"{self.program}-{self._key()}.jsa"

    @property
    def present(self) -> bool:
        """Whether it is there."""
        return self.file.exists()

    def use(self) -> tuple[str, ...]:
        """Return the JVM options that use the archive; none while it is missing."""
        file = self.file
        return (f"-XX:SharedArchiveFile={file}", *_QUIET) if file.exists() else ()

    def make(self) -> tuple[str, ...]:
        """Return the JVM options that make it, under a name of our own until it is settled."""
        file = self.file
        file.parent.mkdir(parents=True, exist_ok=True)
        return (f"-XX:ArchiveClassesAtExit={file}.{os.getpid()}", *_QUIET)

    def settle(self, age: float = _SETTLED) -> None:
        """Take archives of JVMs that ended `age` seconds ago into use; the last one wins."""
        file, now = self.file, now_ms()
        for made in file.parent.glob(f"{file.name}.*"):
            if now - int(made.stat().st_mtime * 1000) >= age * 1000:
                made.replace(file)

    def _key(self) -> str:
        home = os.environ.get("JAVA_HOME")
        java = Path(home, "bin", "java") if home else Path(shutil.which("java") or "java")
        files = (java.resolve(), *sorted(self.jars))
        # The JVM passes over an archive whose jars were written anew, even when they are the same.
        written = [(str(file), file.stat().st_mtime_ns) for file in files if file.exists()]
        return hashlib.sha256(str(written).encode()).hexdigest()[:16]
