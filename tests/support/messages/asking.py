"""Questions as a client sends them, for tests that speak Kafka's protocol through a bare socket."""

from __future__ import annotations

from kafka.protocol.metadata import ApiVersionsRequest


def version_question(version: int, correlation: int) -> bytes:
    """Return the frame of an ApiVersions request."""
    made = ApiVersionsRequest(client_software_name="t", client_software_version="1")
    made.API_VERSION = version
    made.with_header(correlation_id=correlation, client_id="t")
    return bytes(made.encode(header=True, framed=True))
