"""A Spark session that starts in the background."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from towpath.engine import pythons


class Starting:
    """A Spark session that starts at once, in its own thread."""

    def __init__(
        self,
        master: str | None,
        name: str,
        parallelism: int | None,
        *,
        credentials: bool,
        works: Sequence[str],
        rounds: int = 1,
        packages: str | None = None,
    ) -> None:
        pythons.start(master, works, packed=packages is not None)
        from towpath.engine.session import session  # noqa: PLC0415  # it imports PySpark

        pool = ThreadPoolExecutor(1, thread_name_prefix="towpath-spark")
        self._known = threading.Event()
        self._answer = pool.submit(
            session,
            master,
            name,
            parallelism,
            credentials=credentials,
            works=works,
            rounds=rounds,
            packages=packages,
            on_allowed=self._known.set,
        )
        self._answer.add_done_callback(lambda _: self._known.set())
        pool.shutdown(wait=False)

    def require_allowed(self) -> None:
        """Wait until the start is allowed; no connection may be made before.

        Raises:
            SparkStartError: Spark did not start.
            SparkUnencryptedError: Credentials would leave this machine unencrypted.
        """
        self._known.wait()
        if self._answer.done():
            self._answer.result()

    def ready(self, seconds: float) -> bool:
        """Wait up to some seconds; return whether `result` is ready."""
        return bool(wait([self._answer], seconds).done)

    def result(self) -> Any:
        """Wait for the Spark session, or the local engine, and return it.

        Raises:
            SparkStartError: Spark did not start.
            SparkUnencryptedError: Credentials would leave this machine unencrypted.
        """
        return self._answer.result()
