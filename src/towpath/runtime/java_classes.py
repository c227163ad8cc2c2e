"""A JVM class data archive, which halves the start time of a Java program.

A JVM writes the archive when it ends (dynamic class data sharing, JEP 350), so the second one is
the first that gains. An archive of another Java or another class path is passed over by the JVM.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from towpath.runtime.clock import now_ms
from towpath.runtime.home import home_folder

_SETTLED = 60.0
"""Seconds after which a JVM has certainly finished writing."""
_UNUSED = 7 * 86_400.0
"""Seconds without a start after which an archive is deleted: each environment has its own."""
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The class data archive of one program, in the cache folder.

    Attributes:
        program: Its name, for people.
        jars: What it loads its classes from; written anew they make another archive.
    """

    program: str
    jars: tuple[Path, ...]

    @property
    def file(self) -> Path:
        """The path of the archive for the installed Java."""
        return home_folder() / "classes" / f"{self.program}-{self._key()}.jsa"

    @property
    def present(self) -> bool:
        """Whether the archive exists."""
        return self.file.exists()

    def use(self) -> tuple[str, ...]:
        """Return the JVM options that use the archive; none while it is missing."""
        file = self.file
        if not file.exists():
            return ()
        with suppress(OSError):  # in the cache of another user
            os.utime(file)  # its time tells when it was last used
        return f"-XX:SharedArchiveFile={file}", *_QUIET

    def make(self) -> tuple[str, ...]:
        """Return the JVM options that create the archive, under a temporary name."""
        file = self.file
        file.parent.mkdir(parents=True, exist_ok=True)
        return (f"-XX:ArchiveClassesAtExit={file}.{os.getpid()}", *_QUIET)

    def settle(self, age: float = _SETTLED) -> None:
        """Rename archives that JVMs wrote `age` seconds ago or earlier; the last one wins.

        Archives of the program that were not used for a week are deleted then.
        """
        file, took = self.file, False
        for made in file.parent.glob(f"{file.name}.*"):
            if _age(made) >= age:
                made.replace(file)
                took = True
        if took:
            self._delete_unused()

    def _delete_unused(self) -> None:
        for each in self.file.parent.glob(f"{self.program}-*.jsa*"):
            with suppress(OSError):  # another process was faster
                if _age(each) >= _UNUSED:
                    each.unlink()

    def _key(self) -> str:
        home = os.environ.get("JAVA_HOME")
        java = Path(home, "bin", "java") if home else Path(shutil.which("java") or "java")
        files = (java.resolve(), *sorted(self.jars))
        # The JVM passes over an archive whose jars were written anew, even when they are the same.
        written = [(str(file), file.stat().st_mtime_ns) for file in files if file.exists()]
        return hashlib.sha256(str(written).encode()).hexdigest()[:16]


def _age(file: Path) -> float:
    """Return the seconds since a file was written, or used."""
    return now_ms() / 1000 - file.stat().st_mtime
