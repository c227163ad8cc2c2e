"""The page about kafka-replicator tells of each of its fields what it is here."""

from __future__ import annotations

import re
from pathlib import Path

from towpath.archive.config import ArchiveConfig
from towpath.settings.shape import walk

PAGE = Path(__file__).parents[2] / "docs/howto/from-kafka-replicator.md"
FIELDS = {
    "EgressConfig": "LocalRegion AWSConfig AWSSession S3Bucket SegmentFormat KafkaBrokers"
    " KafkaTopics S3KeyPrefix KafkaConsumerGroup",
    "IngressConfig": "LocalRegion Sources AWSSession AWSConfig S3Bucket SegmentFormat SQSQueueName"
    " KafkaBrokers KafkaSegmentEventsTopic KafkaSegmentEventsRetention KafkaCheckpointTopic"
    " S3KeyPrefix KafkaConsumerGroup KafkaProducerBatchSize KafkaProducerBatchDelay",
    "CompactionConfig": "LocalRegion AWSSession AWSConfig S3Bucket SegmentFormat KafkaBrokers"
    " Topics Parallelism S3KeyPrefix KafkaConsumerGroup CronSchedule CronLocation",
    "egress.TopicConfig": "MaxSegmentMessages MaxSegmentSize MaxSegmentAge WorkerChanSize"
    " WorkerStopTimeout ConsumerRetrier SegmentStoreRetrier",
    "ingress.SourceConfig": "DestinationTopic LostSegmentTimeout LateSegmentRetries"
    " FirstSegmentDelay BatchSize WorkerInitDelay WorkerChanSize WorkerStopTimeout ProducerRetrier"
    " SegmentStoreRetrier CheckpointStoreRetrier",
    "compaction.Config": "MinLevel MaxLevel MinSegmentAge MinSegmentCount MinSegmentSize"
    " MaxSegmentCount MaxSegmentSize BatchSize Delete",
    "formats.S3ParquetConfig": "AWSConfig S3UploaderOptions Parallelism CreatedBy Breaker",
    "stores.S3SegmentStoreConfig": "SegmentFormat AWSConfig AWSSession Bucket KeyPrefix"
    " TempKeyPrefix Breaker",
    "stores.ConsistentSegmentStoreConfig": "PubSub SegmentStore SegmentEventSource Topic"
    " EventsRetention EventsRetentionCheckInterval EventsChanSize",
    "stores.SQSSegmentEventSourceConfig": "AWSConfig AWSSession QueueName S3KeyPrefix"
    " ReceiveMaxNumberOfMessages ReceiveWaitTime MessageVisibilityTimeout MessageMaxRetryCount"
    " EventsChanSize Breaker",
    "stores.CheckpointStoreConfig": "PubSub LocalRegion Topic",
    "kafka.ConsumerConfig": "Brokers ConsumerGroup PartitionAssignmentStrategy PollInterval"
    " ClientRack AdditionalConfig",
    "kafka.ProducerConfig": "Brokers FlushTimeout AdditionalConfig",
    "kafka.PubSubConfig": "Brokers ConsumerGroupPrefix EventsChanSize PollInterval FlushTimeout",
}
"""The fields of its structs, from its code at 7055b2f."""
ROW = re.compile(r"^\| ([\w.]+) \| ([\w, ]+) \| (.+) \|$", re.MULTILINE)


def test_each_field_is_told_once() -> None:
    told = [
        (struct, field)
        for struct, fields, _ in ROW.findall(PAGE.read_text())
        if struct != "struct"
        for field in fields.split(", ")
    ]
    wanted = [(struct, field) for struct, names in FIELDS.items() for field in names.split()]
    assert sorted(told) == sorted(wanted)


def test_our_keys_are_those_of_the_file_and_the_rest_has_a_reason() -> None:
    keys = {".".join(place) for place, _ in walk(ArchiveConfig)}
    for struct, fields, here in ROW.findall(PAGE.read_text()):
        if struct == "struct":
            continue
        named = [name for name in re.findall(r"`([a-z_.]+)`", here) if "." in name]
        assert {name for name in named if name != "max.message.bytes"} <= keys, here
        has_reason = re.match(r"(not needed|none|as in)[,:; ]", here)
        assert has_reason or re.match(r"`", here), (struct, fields)
