"""Errors about the local machine.

TowpathError
└── DevError                    2  this machine lacks something
    ├── DistributionError          Kafka's jars could not be fetched
    ├── PortTakenError             another process listens on the port of a broker
    └── BrokerError                a broker did not start or stop
"""

from __future__ import annotations

from towpath.model.errors import TowpathError


class DevError(TowpathError):
    """The local machine lacks something: `what` is wrong, and `advice` to correct it."""

    code = "DEV"
    exit_code = 2

    def __init__(self, what: str, advice: str = "") -> None:
        super().__init__(what, advice)
        self.what, self.advice = what, advice

    def __str__(self) -> str:
        return f"{self.what}; {self.advice}" if self.advice else self.what


class DistributionError(DevError):
    """Kafka's jars could not be fetched."""

    code = "DEV_DISTRIBUTION"


class PortTakenError(DevError):
    """Another process listens on the port."""

    code = "DEV_PORT_TAKEN"

    def __init__(self, port: int, holder: str = "") -> None:
        self.by = f" by {holder}" if holder else ""
        super().__init__(
            f"port {port} on 127.0.0.1 is taken{self.by}",
            "stop what listens there, or choose another port",
        )
        self.port, self.holder = port, holder

    def __reduce__(self) -> tuple[type[PortTakenError], tuple[int, str]]:
        return (PortTakenError, (self.port, self.holder))


class BrokerError(DevError):
    """A broker did not start or stop; `log` has the end of its log."""

    code = "DEV_BROKER"

    def __init__(self, what: str, log: str = "", advice: str = "") -> None:
        super().__init__(what, advice)
        self.args = (what, log, advice)
        self.log = log

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.log}" if self.log else super().__str__()
