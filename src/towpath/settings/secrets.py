"""Secrets and PEM files, which the YAML file names but never contains."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, PlainSerializer, PlainValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from towpath.model.secret import Secret
from towpath.settings.files import FileSecret, Stamp
from towpath.settings.problems import environment_error, must_be

SECRET_KEYS = frozenset(
    {"account_key", "client_secret", "connection_string", "password", "key_password", "sas",
     "secret_access_key", "secrets", "service_account", "session_token", "token", "users"}
)  # fmt: skip
"""Keys whose value is or contains a reference; variables in it are not replaced as text."""

VARIABLE = re.compile(r"\$\{(?!!)([^{}]*)\}")
"""A reference to a variable; `${! ... }` is an expression."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CERTIFICATE = re.compile(r"-----BEGIN ([A-Z0-9 ]*CERTIFICATE)-----.*?-----END \1-----", re.DOTALL)
_HOW = "a secret is never written into the file; write env:NAME, file:PATH or ${NAME}"


@dataclass(frozen=True, slots=True)
class PemFile:
    """A PEM file whose text is read again when the file changes (`settings/files.py`)."""

    path: str
    text: Secret


def certificates(pem: str) -> str:
    """Return the certificates in a PEM text, without the comments around them.

    The ssl module takes ASCII alone, and comments are in any language.

    Raises:
        ValueError: There is no certificate, or one contains invalid characters.
    """
    found = "\n".join(match[0] for match in _CERTIFICATE.finditer(pem))
    if not found.isascii() or not found:
        raise ValueError("no usable certificate")
    return found


def variable(name: str) -> str:
    """Return the value of an environment variable.

    Raises:
        ValueError: The name is not valid.
        PydanticCustomError: The variable is not set.
    """
    if not _NAME.fullmatch(name):
        raise ValueError("the name of a variable is made of letters, digits and _")
    value = os.environ.get(name)
    if value is None:
        raise environment_error(f"variable {name} is not set in the environment")
    return value


def _secret(value: object, info: ValidationInfo) -> Secret:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str):
        raise ValueError(_HOW)  # noqa: TRY004, pydantic reports a ValueError only
    kind, _, name = value.partition(":")
    whole = VARIABLE.fullmatch(value)
    if whole or (kind == "env" and name):
        text = variable(whole[1] if whole else name)
    elif kind == "file" and name:
        return _of_file(_place(name, info))
    else:
        raise ValueError(_HOW)
    return Secret(_not_empty(text))


def _of_file(path: Path) -> Secret:
    stamp = _stamp(path)
    text = _text(path).rstrip("\r\n")
    return FileSecret(str(path.absolute()), _not_empty(text), stamp)


def _not_empty(text: str) -> str:
    if not text:
        raise environment_error("the secret is empty")
    return text


def _place(name: str, info: ValidationInfo) -> Path:
    """Return the path that a name in the file means: relative to the file's folder."""
    folder = Path((info.context or {}).get("folder", "."))
    try:
        return folder / Path(name).expanduser()
    except RuntimeError:
        raise environment_error(f"{name}: there is no such user") from None


def _text(path: Path, errors: str = "strict") -> str:
    try:
        return path.read_text("utf-8", errors)
    except UnicodeDecodeError:
        raise environment_error(f"{path}: is no text file") from None
    except (OSError, ValueError) as error:
        raise _unusable(path, error) from None


def _stamp(path: Path) -> Stamp:
    try:
        return Stamp.of(path)
    except (OSError, ValueError) as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: Exception) -> PydanticCustomError:
    why = getattr(error, "strerror", None) or "no usable path"
    return environment_error(f"{path}: {why}")


def _pem(value: object, info: ValidationInfo) -> PemFile:
    if isinstance(value, PemFile):
        return value
    if not isinstance(value, str):
        raise ValueError(must_be("a text", value))  # noqa: TRY004, as above
    path = _place(value, info)
    stamp = _stamp(path)
    text = _text(path, errors="replace")  # a comment may be in any encoding
    if "-----BEGIN " not in text:
        raise environment_error(f"{path}: holds no PEM block (-----BEGIN ...)")
    return PemFile(str(path), FileSecret(str(path.absolute()), text, stamp, pem=True))


_REFERENCE = Annotated[str, Field(pattern=r"^(env:.+|file:.+|\$\{[^{}]*\})$")]
SecretText = Annotated[
    Secret,
    PlainValidator(_secret, json_schema_input_type=_REFERENCE),
    PlainSerializer(repr, return_type=str),
]
Pem = Annotated[
    PemFile,
    PlainValidator(_pem, json_schema_input_type=str),
    PlainSerializer(lambda pem: pem.path, return_type=str),
]
