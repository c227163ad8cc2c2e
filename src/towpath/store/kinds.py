"""The kinds of stores by URL scheme, and the backend of each.

The docstring of the package `store` lists the places that a new kind needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from towpath.model.errors import ExtraMissingError
from towpath.settings import StoreConfig, StoreKind
from towpath.store.objects import Backend

CONDITIONS = {
    StoreKind.S3: "If-None-Match",
    StoreKind.GOOGLE: "ifGenerationMatch",
    StoreKind.AZURE: "If-None-Match",
}
"""What each kind calls the condition that there is no such object yet."""


def backend_of(config: StoreConfig, *, begun: bool) -> Backend:
    """Return the backend of a store.

    Args:
        config: The store.
        begun: Whether it is known to hold something; see `Store`.

    Raises:
        ExtraMissingError: A library that this kind needs is not installed.
    """
    # Each kind needs a library that takes a while to load.
    match config.kind:
        case StoreKind.FILES:
            from towpath.store.files.files import FilesBackend  # noqa: PLC0415

            return FilesBackend(config, begun=begun)
        case StoreKind.S3:
            with _needed(config, "botocore", "s3"):
                from towpath.store.s3.s3 import S3Backend  # noqa: PLC0415

            return S3Backend(config)
        case StoreKind.GOOGLE:
            with _needed(config, "google-auth", "gcs"):
                from towpath.store.gcs.gcs import GcsBackend  # noqa: PLC0415

            return GcsBackend(config)
        case StoreKind.AZURE:
            with _needed(config, "urllib3", "azure"):
                from towpath.store.azure.azure import AzureBackend  # noqa: PLC0415

            return AzureBackend(config)


@contextmanager
def _needed(config: StoreConfig, library: str, extra: str) -> Iterator[None]:
    """Name the extra that a store needs.

    Raises:
        ExtraMissingError: Its library is not installed.
    """
    try:
        yield
    except ImportError:
        raise ExtraMissingError(config.url, library, extra) from None
