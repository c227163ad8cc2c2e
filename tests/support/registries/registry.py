"""A real schema registry for tests, which starts in a tenth of a second."""

from __future__ import annotations

import base64
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.clusters.certificates import Vault
from tests.support.network.serving import end, serving
from towpath.dev import ports
from towpath.runtime.home import home_folder

MODULE, VERSION = "github.com/axonops/axonops-schema-registry", "v0.2.1"
ADMIN = ("admin", "secretpw")
"""User and password of the administrator of a registry that wants a login."""
TYPE = "application/vnd.schemaregistry.v1+json"


def fetch() -> Path | None:
    """Return the program; build it once with Go, or return None where there is no Go."""
    program = home_folder() / "bin" / f"schema-registry-{VERSION}"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        return None
    program.parent.mkdir(parents=True, exist_ok=True)
    # `go install` needs a list of versions, which its proxy does not have.
    asked = [go, "mod", "download", "-json", f"{MODULE}@{VERSION}"]
    said = subprocess.run(asked, check=True, capture_output=True, cwd=program.parent)
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        made = Path(scratch) / "schema-registry"
        build = [go, "build", "-p", "1", "-mod=readonly", "-buildvcs=false", "-trimpath"]
        build += ["-ldflags=-s -w", "-o", str(made), "./cmd/schema-registry"]
        environment = os.environ | {"CGO_ENABLED": "0"}
        source = json.loads(said.stdout)["Dir"]
        subprocess.run(build, env=environment, check=True, capture_output=True, cwd=source)
        made.replace(program)
    return program


class RegistryClient:
    """Asks a registry, as its administrator does.

    Args:
        url: Where it is.
        login: User and password of its administrator, if it asks for a login.
        ca: The authority of its certificate, for https.
    """

    def __init__(
        self, url: str, login: tuple[str, str] | None = None, ca: Path | None = None
    ) -> None:
        self.url, self._headers = url, {"Content-Type": TYPE}
        self._tls = ssl.create_default_context(cafile=ca) if ca is not None else None
        if login is not None:
            word = base64.b64encode(":".join(login).encode()).decode()
            self._headers["Authorization"] = f"Basic {word}"

    def bear(self, token: str) -> None:
        """Log in with a token from now on."""
        self._headers["Authorization"] = f"Bearer {token}"

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return an answer; AssertionError for one that is not 2xx."""
        status, said = self.answer(method, path, body)
        assert status < 300, f"{method} {path}: {status} {said}"
        return said

    def answer(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> tuple[int, Any]:
        """Return status and answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - ours
            self.url + path, data=data, method=method, headers=self._headers
        )
        try:
            with urllib.request.urlopen(  # noqa: S310 - ours
                request, timeout=20, context=self._tls
            ) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                said = error.read()
                with suppress(ValueError):  # 401 and 403 are plain text
                    said = json.loads(said or b"null")
                return error.code, said

    def register(self, subject: str, schema: Any, **more: Any) -> int:
        """Register a schema and return its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        path = f"/subjects/{subject}/versions"
        number: int = self.ask("POST", path, {"schema": text, **more})["id"]
        return number

    def version(self, subject: str, number: int | str = "latest") -> dict[str, Any]:
        """Return a version of a subject."""
        found: dict[str, Any] = self.ask("GET", f"/subjects/{subject}/versions/{number}")
        return found

    def schemas(self) -> dict[tuple[str, int], tuple[int, str]]:
        """Return id and text of every version that is not deleted."""
        return {
            (each["subject"], each["version"]): (each["id"], each["schema"])
            for each in self.ask("GET", "/schemas")
        }

    def mode(self, subject: str) -> str | None:
        """Return the mode of a subject, `None` if it has none of its own."""
        status, said = self.answer("GET", f"/mode/{subject}")
        return str(said["mode"]) if status == 200 else None

    def level(self, subject: str) -> str | None:
        """Return the compatibility of a subject, `None` if it has none of its own."""
        status, said = self.answer("GET", f"/config/{subject}")
        return str(said["compatibilityLevel"]) if status == 200 else None


class LocalRegistry(RegistryClient):
    """A running registry that keeps everything in memory.

    Args:
        program: The program.
        folder: Where its config and log go.
        options: Further parts of its config, by section.
        vault: The certificates of one that has TLS, and wants `ADMIN` to log in.
        memory: Upper bound on its heap, for its garbage collector.
        auth: Whom it lets in, instead of `ADMIN` or everybody.
    """

    def __init__(
        self,
        program: Path,
        folder: Path,
        options: Mapping[str, Any] | None = None,
        vault: Vault | None = None,
        memory: str = "64MiB",
        auth: Mapping[str, Any] | None = None,
    ) -> None:
        (self.port,) = ports.reserve(1)
        at = f"127.0.0.1:{self.port}"
        if vault is None:
            super().__init__(f"http://{at}")
        else:
            super().__init__(f"https://{at}", ADMIN, vault.ca)
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "registry.yaml"
        config.write_text(
            json.dumps(
                {
                    "server": {"host": "127.0.0.1", "port": self.port},
                    "storage": {"type": "memory"},
                    "compatibility": {"default_level": "BACKWARD"},
                    "logging": {"level": "warn", "format": "json"},
                    "security": _security(vault, auth),
                    **(options or {}),
                }
            )
        )
        command = [str(program), "--config", str(config)]
        env = {"GOMEMLIMIT": memory}
        self._process = serving(command, self.port, folder / "registry.log", env)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def stop(self) -> None:
        """End it."""
        end(self._process)


def _security(vault: Vault | None, auth: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the section `security` of the config."""
    if vault is None:
        return {"auth": auth} if auth is not None else {}
    tls = {
        "enabled": True,
        "cert_file": str(vault.broker.certificate),
        "key_file": str(vault.broker.key),
        "min_version": "TLS1.2",
        "client_auth": "none",
    }
    return {"tls": tls, "auth": _password() if auth is None else auth}


def _password() -> dict[str, Any]:
    user, word = ADMIN
    return {
        "enabled": True,
        "methods": ["basic"],
        "basic": {"realm": "sr"},
        "bootstrap": {
            "enabled": True,
            "username": user,
            "password": word,
            "email": "a@example.com",
        },
        "rbac": {"enabled": True, "default_role": "readonly", "super_admins": [user]},
    }


def record(name: str, *fields: str, of: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return an Avro record; its fields are ints with a default, those of `of` other records."""
    plain = [{"name": each, "type": "int", "default": 0} for each in fields]
    others = [{"name": each, "type": type_} for each, type_ in (of or {}).items()]
    return {"type": "record", "name": name, "fields": [*plain, *others]}


def refers(*references: Sequence[Any]) -> list[dict[str, Any]]:
    """Return references from (name, subject, version) triples."""
    return [dict(zip(("name", "subject", "version"), each, strict=True)) for each in references]
