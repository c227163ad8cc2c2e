"""Clients of AWS and compatible services, with the file's login."""

from __future__ import annotations

from functools import cache
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.loaders import Loader, create_loader

from towpath.settings import AwsKeys

_REGION = "us-east-1"
"""The region that services take whose regions mean nothing."""


def aws_client(
    service: str,
    *,
    keys: AwsKeys | None,
    profile: str | None,
    region: str | None,
    endpoint: str | None,
    s3: dict[str, Any] | None = None,
) -> Any:
    """Return a botocore client without retries of its own.

    Args:
        service: The service, such as `s3`.
        keys: The login; by default what AWS's tools find.
        profile: The profile in the files of AWS's tools.
        region: The region; by default that of the environment.
        endpoint: The URL of a service that is not the provider's own.
        s3: Options of S3.

    Raises:
        BotoCoreError: Its configuration cannot be used.
    """
    session = botocore.session.Session(profile=profile)
    session.register_component("data_loader", _loader(session.get_config_variable("data_path")))
    login = {}
    if keys is not None:
        login = {
            "aws_access_key_id": keys.access_key_id,
            "aws_secret_access_key": keys.secret_access_key.reveal(),
            "aws_session_token": keys.session_token.reveal() if keys.session_token else None,
        }
    return session.create_client(
        service,
        region_name=region or session.get_config_variable("region") or _REGION,
        endpoint_url=endpoint,
        config=Config(
            retries={"total_max_attempts": 1},
            s3=s3,
            user_agent_extra="towpath",
            # Segments have checksums of their own, by which their readers say what is damaged.
            response_checksum_validation="when_required",
        ),
        **login,
    )


@cache
def _loader(folders: str | None) -> Loader:
    """Return what reads the descriptions of services, and keeps them for all clients of a process.

    A slice has a client of its own. To read the description of S3 takes 0.15 CPU seconds, as much
    as to copy 20 MB of row groups. Logins are not kept: each client looks for them itself.

    Args:
        folders: Where users keep descriptions of their own, as AWS's tools are configured.
    """
    return create_loader(folders)
