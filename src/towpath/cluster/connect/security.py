"""Conversion of the file's `tls` and `sasl` sections into ssl and kafka-python objects.

No text with a secret leaves this module.
"""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Any, NamedTuple

from kafka.net.sasl import get_sasl_mechanism
from kafka.net.sasl.abc import SaslMechanism
from kafka.net.sasl.msk import SaslMechanismAwsMskIam
from kafka.net.sasl.oauth import AbstractTokenProvider

from towpath.model.errors import ExtraMissingError
from towpath.model.foreign import foreign
from towpath.model.secret import Secret, remember
from towpath.settings import (
    ClusterConfig,
    GssapiSasl,
    MskSasl,
    OauthSasl,
    PasswordSasl,
    PemFile,
    Tls,
    certificates,
    note,
)
from towpath.settings.sections.listener_tls import ListenerTls

_COMMAND_SECONDS = 30


class _Texts(NamedTuple):
    """Contents of the files of a `tls` section at one time."""

    ca: str
    cert: str
    key: str
    password: str


_KEPT = 8
_contexts: dict[Tls | ListenerTls, tuple[_Texts, ssl.SSLContext]] = {}
_making = Lock()


def ssl_context(tls: Tls) -> ssl.SSLContext:
    """Return the TLS context of `tls`, cached until one of its files changes.

    While files are being replaced, they may not match; then the previous context is returned.

    Raises:
        ssl.SSLError: A certificate or key is not usable, and none was before.
        ValueError: The authorities are not usable, and none were before.
    """
    return _current(tls, lambda texts: _made(tls, texts))


def listener_context(
    tls: ListenerTls, note: Callable[[ssl.SSLObject, str | None], None] = lambda _, __: None
) -> ssl.SSLContext:
    """Return the TLS context of a listener; each handshake uses what its files contain by then.

    Args:
        tls: Its section of the file.
        note: Called in each handshake with the host that the client names, if any.

    Raises:
        ssl.SSLError: A certificate or key is not usable.
        ValueError: The authorities are not usable.
    """

    def newest() -> ssl.SSLContext:
        return _current(tls, lambda texts: _made_listener(tls, texts))

    def at_handshake(of: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        of.context = newest()
        note(of, name)

    context = _made_listener(tls, _texts(tls))
    context.sni_callback = at_handshake  # also called for clients that name no host
    return context


def _current(tls: Tls | ListenerTls, make: Callable[[_Texts], ssl.SSLContext]) -> ssl.SSLContext:
    """Return a context, made anew once a file has changed."""
    now = _texts(tls)
    with _making:
        before, context = _contexts.get(tls, (None, None))
        if context is not None and before == now:
            return context
        pems = tls.ca, tls.cert, tls.key, tls.key_password
        about = ", ".join(pem.path for pem in pems if isinstance(pem, PemFile))
        try:
            made = make(now)
        except (ssl.SSLError, ValueError) as error:
            if context is None:
                raise
            why = f"{about} changed but cannot be used together ({foreign(error)})"
            note(about, f"{why}; what they held before is used until they can")
            return context
        note(about, "")
        _contexts[tls] = now, made
        while len(_contexts) > _KEPT:
            _contexts.pop(next(iter(_contexts)))
        return made


def _texts(tls: Tls | ListenerTls) -> _Texts:
    return _Texts(*(_revealed(each) for each in (tls.ca, tls.cert, tls.key, tls.key_password)))


def _revealed(part: PemFile | Secret | None) -> str:
    secret = part.text if isinstance(part, PemFile) else part
    return secret.reveal() if secret else ""


def _made(tls: Tls, texts: _Texts) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = tls.verify_hostname
    if tls.ca:
        context.load_verify_locations(cadata=certificates(texts.ca))
    else:
        context.load_default_certs()
    if tls.cert:
        _load_pair(context, texts)
    return context


def _made_listener(tls: ListenerTls, texts: _Texts) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if tls.ca:
        context.load_verify_locations(cadata=certificates(texts.ca))
        context.verify_mode = ssl.CERT_REQUIRED
    _load_pair(context, texts)
    return context


def _load_pair(context: ssl.SSLContext, texts: _Texts) -> None:
    """OpenSSL takes certificate and key from a file only; ours is private and gone at once."""
    with NamedTemporaryFile("w", suffix=".pem", encoding="utf-8") as file:
        file.write(f"{texts.key}\n{texts.cert}")
        file.flush()
        context.load_cert_chain(file.name, password=texts.password)


def sasl_mechanism(config: ClusterConfig, host: str) -> SaslMechanism:
    """Return a new kafka-python SASL exchange for one login at `host`.

    Raises:
        Exception: Whatever the libraries for Kerberos and AWS raise.
    """
    sasl = config.sasl
    if isinstance(sasl, MskSasl):
        return _MskMechanism(sasl.region, host=host, **sasl_options(config))
    return get_sasl_mechanism(sasl.mechanism if sasl else "")(host=host, **sasl_options(config))


def sasl_options(config: ClusterConfig) -> dict[str, Any]:
    """Return kafka-python's options for the login of `config`; they hold secrets: never log."""
    options: dict[str, Any] = {
        "security_protocol": "SASL_SSL" if config.tls else "SASL_PLAINTEXT",
        "sasl_mechanism": config.sasl.mechanism if config.sasl else None,
    }
    match config.sasl:
        case PasswordSasl(mechanism=mechanism, username=username, password=password):
            options["sasl_plain_username"] = (
                username if mechanism == "PLAIN" else _scram_name(username)
            )
            options["sasl_plain_password"] = password.reveal()
        case OauthSasl():
            options["sasl_oauth_token_provider"] = _Token(config.sasl)
        case GssapiSasl():
            options["sasl_kerberos_service_name"] = config.sasl.service_name
            options["sasl_kerberos_domain_name"] = config.sasl.domain_name
        case MskSasl() | None:
            pass
    return options


def _scram_name(name: str) -> str:
    """RFC 5802 writes these two letters so; kafka-python leaves it to its caller."""
    return name.replace("=", "=3D").replace(",", "=2C")


class _Token(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python carries no types
    """The token of the file, or what the file's command prints."""

    def __init__(self, sasl: OauthSasl) -> None:
        super().__init__()
        self._sasl = sasl

    def token(self) -> str:
        """Return a token for one login."""
        if self._sasl.token:
            return self._sasl.token.reveal()
        command = self._sasl.token_command or ()
        try:
            code, token = _output(command)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise ChildProcessError(f"token_command: {foreign(error)}") from None
        remember(token)
        if code or not token:
            # The command's output may contain secrets.
            raise ChildProcessError(
                f"token_command {command[0]} ended with code {code}"
                + ("" if token else " and printed no token")
            )
        return token

    def extensions(self) -> dict[str, str]:
        """Return the SASL extensions that go with the token."""
        return dict(self._sasl.extensions)


def _output(command: Sequence[str]) -> tuple[int, str]:
    """Run the user's command; return its exit code, and what it printed without blanks around it.

    It has a session of its own, so that one that does not end can be ended with all its children.

    Raises:
        OSError: It could not be started.
        ValueError: It cannot be a command, or it printed bytes that are no text.
        subprocess.TimeoutExpired: It did not end in time.
    """
    with subprocess.Popen(  # noqa: S603, the user's own command, and no shell
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=_COMMAND_SECONDS)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        return process.returncode, printed.strip()


class _MskMechanism(SaslMechanismAwsMskIam):  # type: ignore[misc]  # kafka-python carries no types
    """kafka-python's, with a region from the file: it knows that of the environment alone."""

    def __init__(self, region: str | None, **options: Any) -> None:
        try:
            import_module("botocore.session")
        except ImportError:
            raise ExtraMissingError("AWS_MSK_IAM", "botocore", "s3") from None
        super().__init__(**options)
        self._boto_session_cls: Any
        session: Any = self._boto_session_cls
        self._boto_session_cls = lambda: _in_region(session(), region)


def _in_region(session: Any, region: str | None) -> Any:
    if region:
        session.set_config_variable("region", region)
    if session.get_credentials() is None:
        raise LookupError("botocore finds no AWS credentials")
    return session
