"""The relays in front of a broker, each a process that is watched."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import trustme
from confluent_kafka.admin import AdminClient
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from bench.watched import WatchedProcess
from towpath.dev import distribution, ports
from towpath.dev.broker import LocalCluster
from towpath.engine import java

KROXYLICIOUS = "0.12.0"
"""The newest one whose jars are in Maven Central; its program is not, so `Proxy` starts it."""
_PROXY = """
import io.kroxylicious.proxy.KafkaProxy;
import io.kroxylicious.proxy.config.ConfigParser;
import io.kroxylicious.proxy.internal.config.Features;
public class Proxy {
  public static void main(String[] words) throws Exception {
    var parser = new ConfigParser();
    try (var file = new java.io.FileInputStream(words[0]);
         var proxy = new KafkaProxy(
             parser, parser.parseConfiguration(file), Features.defaultFeatures())) {
      proxy.startup().block();
    }
  }
}
"""
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Certificate:
    """Files of a certificate for 127.0.0.1."""

    cert: Path
    key: Path

    @classmethod
    def made(cls, folder: Path) -> Certificate:
        """Make one in a folder."""
        found = cls(folder / "cert.pem", folder / "key.pem")
        made = trustme.CA().issue_cert("127.0.0.1", "localhost")
        # Java reads no other form.
        key = load_pem_private_key(made.private_key_pem.bytes(), None)
        found.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        with found.cert.open("wb") as file:
            file.writelines(each.bytes() for each in made.cert_chain_pems)
        return found


class Relay(WatchedProcess):
    """A relay in front of broker 1 of a cluster.

    Args:
        home: Where its files go.
        source: The cluster.
        target: Another one, which a gateway needs.
        tls: The certificate for clients, `None` for plain text.
    """

    name = ""

    def __init__(
        self, home: Path, source: LocalCluster, target: LocalCluster, tls: Certificate | None
    ) -> None:
        self._listen, self._node = ports.reserve(2)
        super().__init__(home / f"{self.name}-{self._listen}", "out")
        self._source, self._target, self._tls = source, target, tls

    @property
    def address(self) -> str:
        """Where clients reach the broker."""
        return f"127.0.0.1:{self._node}"

    def await_open(self) -> None:
        """Wait until it listens.

        Raises:
            TimeoutError: It does not.
        """
        end = time.monotonic() + _PATIENCE
        while ports.is_free(self._node):
            if not self.running or time.monotonic() > end:
                raise TimeoutError(f"{self.name} does not listen: {self.log_end}")
            time.sleep(0.1)


class BareRelay(Relay):
    """The limit: bytes pass without a look at them."""

    name = "bare"

    def _command(self) -> Sequence[str]:
        broker = self._source.bootstrap.rpartition(":")[2]
        return [sys.executable, "-m", "bench.bare_relay", str(self._node), broker]


class GatewayRelay(Relay):
    """`towpath gateway`."""

    name = "gateway"

    def _command(self) -> Sequence[str]:
        file = self._folder / "link.yaml"
        tls = f", tls: {{cert: '{self._tls.cert}', key: '{self._tls.key}'}}" if self._tls else ""
        file.write_text(
            f"source: {{bootstrap: '{self._source.bootstrap}'}}\n"
            f"target: {{bootstrap: '{self._target.bootstrap}'}}\n"
            f"link: bench-{self._listen}\ntopics: {{include: ['load']}}\n"
            f"gateway: {{listen: '127.0.0.1:{self._listen}',"
            f" nodes: {{1: '127.0.0.1:{self._node}'}}{tls}}}\n"
        )
        return [sys.executable, "-m", "towpath", "gateway", str(file)]


class KroxyliciousRelay(Relay):
    """Kroxylicious without filters."""

    name = "kroxylicious"

    def await_open(self) -> None:
        """Wait until it listens, and let it learn where the broker is.

        Until a client has asked for metadata, it closes connections to the ports of brokers.
        """
        super().await_open()
        tls = {"security.protocol": "ssl", "enable.ssl.certificate.verification": "false"}
        at = {"bootstrap.servers": f"127.0.0.1:{self._listen}"}
        AdminClient({**at, **(tls if self._tls else {})}).list_topics(timeout=_PATIENCE)

    def _command(self) -> Sequence[str]:
        module = ("io.kroxylicious", "kroxylicious-runtime", KROXYLICIOUS)
        jars = distribution.fetch_for_benchmarks(f"kroxylicious-{KROXYLICIOUS}", [module])
        program = self._folder / "Proxy.java"
        program.write_text(_PROXY)
        path = f"{jars}/*"
        compiler = java.find().with_name("javac")
        subprocess.run([compiler, "-cp", path, "-d", self._folder, program], check=True)
        file = self._folder / "proxy.yaml"
        file.write_text(self._config())
        words = ["-Xmx512m", "-cp", f"{self._folder}:{path}", "Proxy", str(file)]
        return [str(java.find()), *words]

    def _config(self) -> str:
        tls = ""
        if self._tls:
            tls = (
                "    tls:\n      key:\n"
                f"        privateKeyFile: {self._tls.key}\n"
                f"        certificateFile: {self._tls.cert}\n"
            )
        return (
            "virtualClusters:\n- name: bench\n"
            f"  targetCluster: {{bootstrapServers: '{self._source.bootstrap}'}}\n"
            "  gateways:\n  - name: default\n"
            f"    portIdentifiesNode:\n      bootstrapAddress: 127.0.0.1:{self._listen}\n"
            f"      nodeStartPort: {self._node}\n"
            "      nodeIdRanges:\n      - {name: all, start: 1, end: 1}\n" + tls
        )
