"""Azure Blob Storage for tests: Azurite, Microsoft's own stand-in, from the npm registry.

It checks signatures, rights of shared access signatures, checksums and conditions as Azure does.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import shutil
import subprocess
import tempfile
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.support.network.serving import end, serving
from towpath.dev import ports
from towpath.model.secret import Secret
from towpath.runtime.home import home_folder
from towpath.settings import StoreConfig
from towpath.store.azure.azure_login import KeyLogin

VERSION = "3.37.0"
ACCOUNT = "towpathtests"
_START = 300.0
"""Seconds in which it starts: it reads thousands of files, from a cold disk a minute long."""
KEY = base64.b64encode(b"a key of the tests, 32 bytes long").decode()
_SCRIPT = Path("node_modules", "azurite", "dist", "src", "blob", "main.js")


def fetch() -> Path | None:
    """Return the program; install it once with npm, or return None where there is no Node.js."""
    folder = home_folder() / f"azurite-{VERSION}"
    if (folder / _SCRIPT).exists():
        return folder / _SCRIPT
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return None
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]
        command += [str(made), f"azurite@{VERSION}"]
        subprocess.run(command, check=True, capture_output=True)
        made.rename(folder)
    return folder / _SCRIPT


class AzureStore:
    """A running store.

    Args:
        program: The program.
        folder: Where its objects and its log go.
    """

    def __init__(self, program: Path, folder: Path) -> None:
        (self.port,) = ports.reserve(1)
        self.url = f"http://127.0.0.1:{self.port}/{ACCOUNT}"
        self._made = 0
        folder.mkdir(parents=True, exist_ok=True)
        command = ["node", "--max-old-space-size=512", str(program), "--silent", "--location"]
        command += [str(folder), "--blobHost", "127.0.0.1", "--blobPort", str(self.port)]
        command += ["--disableTelemetry"]
        accounts = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}
        self._process = serving(command, self.port, folder / "azurite.log", accounts, _START)

    def stop(self) -> None:
        """End it."""
        end(self._process)

    def new(self, prefix: str = "archive", **more: Any) -> StoreConfig:
        """Return the config of a new container.

        Args:
            prefix: The prefix in it.
            more: Further fields of the config.
        """
        self._made += 1
        name = f"container-{self._made}"
        url = f"{self.url}/{name}?restype=container"
        headers = {"x-ms-version": "2023-11-03"}
        signed = KeyLogin(ACCOUNT, Secret(KEY)).headers("PUT", url, headers)
        request = urllib.request.Request(url, headers=signed, method="PUT")  # noqa: S310 - here
        urllib.request.urlopen(request).close()  # noqa: S310
        return self.config(name, prefix, **more)

    def config(self, container: str, prefix: str = "archive", **more: Any) -> StoreConfig:
        """Return the config of a container."""
        given = {"endpoint": self.url, "azure": {"account_key": Secret(KEY)}} | more
        url = f"abfs://{container}@{ACCOUNT}/{prefix}"
        return StoreConfig.model_validate({"url": url, **given})


def sas(container: str, rights: str, hours: float = 1) -> Secret:
    """Return a shared access signature of a container (REST, "Create a service SAS")."""
    until = (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
    version = "2020-12-06"
    place = f"/blob/{ACCOUNT}/{container}"
    signed = [rights, "", until, place, "", "", "", version, "c", "", "", "", "", "", "", ""]
    digest = hmac.new(base64.b64decode(KEY), "\n".join(signed).encode(), hashlib.sha256).digest()
    signature = quote(base64.b64encode(digest).decode(), safe="")
    return Secret(f"sp={rights}&se={quote(until)}&sv={version}&sr=c&sig={signature}")


if __name__ == "__main__":
    fetch()
