"""Certificates for brokers and clients on this machine, made with the openssl command."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from towpath.dev.errors import CommandError
from towpath.model.foreign import printed

EXTENSIONS = "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True, slots=True)
class Certificate:
    """A key and its certificate, as PEM files."""

    key: Path
    certificate: Path

    @property
    def both(self) -> Path:
        """The file with key and certificate, as brokers want it."""
        return self.certificate.with_suffix(".pem")


class Authority:
    """A certificate authority that lives in a folder."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self.folder = folder
        self.key, self.certificate = folder / f"{name}.key", folder / f"{name}.crt"
        folder.mkdir(parents=True, exist_ok=True)
        if not self.certificate.exists():
            _openssl(
                *("req", "-x509", *KEY, "-days", "3650", "-subj", f"/CN={name}"),
                *("-keyout", str(self.key), "-out", str(self.certificate)),
            )

    def issue(self, name: str, days: int = 3650) -> Certificate:
        """Return a certificate for localhost whose common name is `name`.

        Args:
            name: Common name, and the name of the files.
            days: How long it is valid; -1 makes one that has expired.
        """
        key, request, certificate = (self.folder / f"{name}.{end}" for end in ("key", "csr", "crt"))
        extensions = self.folder / "extensions"
        extensions.write_text(EXTENSIONS)
        _openssl("req", *KEY, "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(request))
        _openssl(
            *("x509", "-req", "-in", str(request), "-CA", str(self.certificate)),
            *("-CAkey", str(self.key), "-CAcreateserial", "-days", str(days)),
            *("-extfile", str(extensions), "-out", str(certificate)),
        )
        issued = Certificate(key, certificate)
        issued.both.write_text(key.read_text() + certificate.read_text())
        return issued


def _openssl(*arguments: str) -> None:
    try:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, text=True)  # noqa: S607 - the one on PATH
    except FileNotFoundError as error:
        raise CommandError("there is no openssl command on PATH", "install openssl") from error
    except subprocess.CalledProcessError as error:
        raise CommandError(f"openssl {arguments[0]}: {printed(error.stderr).strip()}") from error
