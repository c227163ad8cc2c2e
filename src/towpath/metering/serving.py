"""The lifecycle of the metrics server of a command, if the file configures one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from towpath.metering.measurement import Measurement
from towpath.metering.meter import Measured


@contextmanager
def served(
    address: tuple[str, int] | None,
    meter: Measured,
    measure: Callable[[], Iterable[Measurement]],
    *,
    root: str = "",
    key: str = "metrics.listen",
) -> Iterator[None]:
    """Serve metrics for Prometheus, within the context.

    Args:
        address: Host and port to listen on; `None` where the file asks for no metrics.
        meter: Tells whether the command is alive.
        measure: Yields every metric, for each scrape anew.
        root: The path below which everything is served as well, "" for none.
        key: What names the address in the file.

    Raises:
        ConfigError: The address cannot be listened on.
    """
    if address is None:
        yield
        return
    # Importing prometheus-client takes a tenth of a second, and not every command needs it.
    from towpath.metering.server import MetricsServer  # noqa: PLC0415

    with MetricsServer(address, meter, measure, key, root):
        yield
