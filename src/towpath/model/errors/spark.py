"""Errors about Spark, and about the Java for Spark and local brokers."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError
from towpath.model.errors.cluster import ClusterError


class JavaError(TowpathError):
    """Java is missing or too old: `what` is wrong, and `advice` to correct it."""

    code = "JAVA"
    exit_code = 2

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what, advice)
        self.what, self.advice = what, advice

    def __str__(self) -> str:
        return f"{self.what}; {self.advice}"


class SparkStartError(TowpathError):
    """Spark did not start, or no Spark cluster accepted the application; `why` has its errors."""

    code = "SPARK_START"
    exit_code = 4

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return (
            f"Spark did not start: {self.why}; check `--master` and that cluster, Java"
            " (`java -version`), and Spark's own settings"
        )


class SparkUnencryptedError(TowpathError):
    """Spark would send the file's credentials to `master` unencrypted; `settings` prevent that."""

    code = "SPARK_UNENCRYPTED"
    exit_code = 4

    def __init__(self, master: str, settings: tuple[str, ...]) -> None:
        super().__init__(master, settings)
        self.master, self.settings = master, settings

    def __str__(self) -> str:
        lines = " and ".join(f"`{each}`" for each in self.settings)
        return (
            f"the file holds credentials, and Spark at {self.master} would not keep them encrypted;"
            f" set {lines} in spark-defaults.conf, also for the daemons of that cluster"
            " (docs/security.md)"
        )


class SparkLostError(TowpathError):
    """Spark's JVM ended, or in a run without Spark the process that starts slices.

    Args:
        what: What ended.
    """

    code = "SPARK_LOST"

    def __init__(self, what: str = "Spark's JVM") -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return (
            f"{self.what} ended all at once (killed, or out of memory: look into the system's log);"
            " run the command again, it goes on where this one stood"
        )


class RepeatedError(TowpathError):
    """Spark has started the slice again, so this earlier attempt ends."""

    code = "SLICE_REPEATED"

    def __str__(self) -> str:
        return "Spark has begun this slice again in another task, so this task has ended"


class WorkersError(TowpathError):
    """The workers of a Spark cluster cannot run slices; `why` is a worker's message."""

    code = "SPARK_WORKERS"
    exit_code = 4

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return self.why


class TaskFailedError(ClusterError):
    """A Towpath error that ended a Spark task, rebuilt from its text.

    Args:
        said: Its sentence.
        code: The code of its class.
        exit_code: The exit code of its class.
    """

    def __init__(self, said: str, code: str, exit_code: int) -> None:
        super().__init__(said, code, exit_code)
        self.said, self.code, self.exit_code = said, code, exit_code

    def __str__(self) -> str:
        return self.said


class PackError(TowpathError):
    """This environment cannot be packed for workers; `why` is the reason."""

    code = "PACK"
    exit_code = 2

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return (
            f"{self.why}; install Towpath with pip into an environment of its own, and run that"
            " environment's `towpath pack`"
        )
