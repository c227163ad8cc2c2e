"""The section `restore.notify`: a queue that announces new objects of a bucket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from towpath.settings.sections.clusters import Tls, tls_or_true
from towpath.settings.sections.store import AwsKeys, StoreConfig, StoreKind, endpoint_url
from towpath.settings.sections.topics import Count
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.units import Duration, between


class NotifyConfig(Section):
    """A queue of S3 notifications, which only say when to look at the commit log."""

    kind: Literal["sqs"] = Field(description="What it is: `sqs`, a queue of Amazon SQS.")
    queue: Annotated[str, Field(min_length=1)] = Field(
        description="Name or URL of a queue that gets the bucket's events `s3:ObjectCreated:*`,"
        " from S3 or through SNS. Nobody else may read from it."
    )
    region: str | None = Field(
        None, min_length=1, description="The region of the queue. Default: that of the store."
    )
    endpoint: Annotated[str, AfterValidator(endpoint_url)] | None = Field(
        None, description="URL of a service that is not the provider's own, such as ElasticMQ."
    )
    keys: AwsKeys | None = Field(None, description="Login. Default: that of the store.")
    profile: str | None = Field(
        None,
        min_length=1,
        description="Profile in the files of AWS's tools.",
    )
    tls: Annotated[Tls | None, BeforeValidator(tls_or_true, json_schema_input_type=bool | Tls)] = (
        Field(None, description="Certificates for https. Default: the authorities of the system.")
    )
    wait: Annotated[Duration, between("1s", "20s")] = Field(
        Duration.parse("20s"), description="For how long one request waits for messages."
    )
    batch: Annotated[Count, Field(ge=1, le=10, strict=True)] = Field(
        Count(10), description="Messages of one answer at most."
    )
    visibility: Annotated[Duration, between("1s", "12h")] = Field(
        Duration.parse("30s"),
        description="Time after which a message that was not deleted is delivered again.",
    )
    retries: Annotated[Count, Field(ge=1, le=1000, strict=True)] = Field(
        Count(3),
        description="How often a message is received that cannot be read, before it is deleted and"
        " counted. Fewer than the queue needs to move it to a dead-letter queue keeps it there.",
    )

    @contradictions
    def _one_login(self) -> Iterator[Placed]:
        if self.keys and self.profile:
            yield Placed(("profile",), "give only one of keys and profile")

    def beside(self, store: StoreConfig) -> NotifyConfig:
        """Return the section with the login and region of a store as defaults."""
        if store.kind is not StoreKind.S3:
            return self
        has_login = self.keys is not None or self.profile is not None
        login = {} if has_login else {"keys": store.keys, "profile": store.profile}
        return self.model_copy(update={**login, "region": self.region or store.region})
