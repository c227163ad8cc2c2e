"""Explanations of TLS handshake errors, with advice."""

from __future__ import annotations

import ssl

from towpath.model.foreign import foreign
from towpath.model.secret import masked
from towpath.settings import Tls

_EXPIRED, _NOT_YET, _SELF_SIGNED = 10, 9, 18
_NO_ISSUER = (2, 19, 20, 21)
_OTHER_NAME = (62, 64)

_OURS = (
    ("CERTIFICATE_EXPIRED", "our certificate has expired", "renew the one in `tls.cert`"),
    (
        "UNKNOWN_CA",
        "the broker does not trust the authority of our certificate",
        "give one in `tls.cert` that it trusts, or add its authority to the broker's truststore",
    ),
    (
        "CERTIFICATE_UNKNOWN",
        "the broker does not accept our certificate",
        "look whether `tls.cert` is valid and the broker trusts its authority",
    ),
    ("PROTOCOL_VERSION", "the broker speaks no TLS 1.2", "set its `ssl.enabled.protocols`"),
    (
        "HANDSHAKE_FAILURE",
        "broker and client have no cipher in common, or it asks for a certificate of ours",
        "give `tls.cert` and `tls.key`, or look at the broker's `ssl.cipher.suites`",
    ),
)

Explained = tuple[str, str, bool]
"""The cause, the advice, and whether a retry is pointless."""


def explain(error: ssl.SSLError, tls: Tls | None, host: str) -> Explained:
    """Explain an error that was raised while connecting to `host`."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _theirs(error, tls, host)
    reason = error.reason or ""
    if isinstance(error, ssl.SSLEOFError) or "EOF" in reason:
        return (
            "the broker closed the connection in the TLS handshake",
            "look whether the port speaks TLS (else remove `tls:`) and what the broker's log says",
            False,
        )
    if reason in {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"}:
        return "the port speaks no TLS", "remove `tls:`, or use the port that does", True
    if "CERTIFICATE_REQUIRED" in reason or "BAD_CERTIFICATE" in reason:
        return _asked_for(tls)
    for part, why, advice in _OURS:
        if part in reason:
            return why, advice, True
    return f"TLS: {reason or foreign(error)}", "look what the broker's log says", True


def _theirs(error: ssl.SSLCertVerificationError, tls: Tls | None, host: str) -> Explained:
    number = error.verify_code
    if number == _EXPIRED:
        return "the broker's certificate has expired", "renew it on the broker", True
    if number == _NOT_YET:
        return "the broker's certificate is not valid yet", "look at the clocks", True
    if number in _OTHER_NAME:
        return (
            f"the broker's certificate is not for {host}",
            f"use the name that it is for as bootstrap, or have one made with {host} in it, or set"
            " `tls.verify_hostname: false`",
            True,
        )
    if number == _SELF_SIGNED or number in _NO_ISSUER:
        known = f"`tls.ca` ({tls.ca.path})" if tls and tls.ca else "the system's authorities"
        return (
            f"the broker's certificate is signed by none of {known}",
            "give the PEM file of its authority as `tls.ca`",
            True,
        )
    why = masked(error.verify_message)
    return f"the broker's certificate is not valid: {why}", "renew it", True


def _asked_for(tls: Tls | None) -> Explained:
    if tls and tls.cert:
        return (
            "the broker does not accept our certificate",
            "look whether `tls.cert` is valid and the broker trusts its authority",
            True,
        )
    return (
        "the broker asks for a certificate of ours",
        "give `tls.cert` and `tls.key`",
        True,
    )
