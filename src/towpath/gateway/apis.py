"""The requests that a gateway relays, by Kafka's API keys, and the newest version of each.

Clients are told these versions, so no other request arrives. Left out is what names brokers in a
way that is not translated (DescribeCluster names controllers from version 1 on), and
OffsetForLeaderEpoch: with it a consumer would check its position
by epochs, which mean nothing on another cluster. Produce ends at 9 and Fetch at 15, as newer
answers carry addresses of brokers (KIP-951) and newer requests ids of topics, which differ between
clusters; OffsetCommit and OffsetFetch end at 9, the transactional ones before KIP-890, likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from towpath.cluster.connect.exchange import Versions


class Api(IntEnum):
    """Requests that the gateway looks into; names are those of Kafka's protocol."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_CONFIGS = 32
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    INCREMENTAL_ALTER_CONFIGS = 44
    OFFSET_DELETE = 47
    DESCRIBE_CLUSTER = 60
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    CONSUMER_GROUP_HEARTBEAT = 68
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    STREAMS_GROUP_HEARTBEAT = 88
    DESCRIBE_SHARE_GROUP_OFFSETS = 90


_NEWEST: Mapping[int, int] = {
    Api.PRODUCE: 9,
    Api.FETCH: 15,
    Api.LIST_OFFSETS: 10,
    Api.METADATA: 13,
    Api.OFFSET_COMMIT: 9,
    Api.OFFSET_FETCH: 9,
    Api.FIND_COORDINATOR: 6,
    Api.JOIN_GROUP: 9,
    Api.HEARTBEAT: 4,
    Api.LEAVE_GROUP: 5,
    Api.SYNC_GROUP: 5,
    15: 6,  # DescribeGroups
    16: 5,  # ListGroups
    Api.SASL_HANDSHAKE: 1,
    Api.API_VERSIONS: 4,
    Api.CREATE_TOPICS: 7,
    Api.DELETE_TOPICS: 6,
    Api.DELETE_RECORDS: 2,
    Api.INIT_PRODUCER_ID: 5,
    Api.ADD_PARTITIONS_TO_TXN: 3,
    Api.ADD_OFFSETS_TO_TXN: 3,
    Api.END_TXN: 3,
    Api.TXN_OFFSET_COMMIT: 3,
    29: 3,  # DescribeAcls
    30: 3,  # CreateAcls
    31: 3,  # DeleteAcls
    Api.DESCRIBE_CONFIGS: 4,
    Api.SASL_AUTHENTICATE: 2,
    Api.CREATE_PARTITIONS: 3,
    42: 2,  # DeleteGroups
    Api.INCREMENTAL_ALTER_CONFIGS: 1,
    Api.OFFSET_DELETE: 0,
    48: 1,  # DescribeClientQuotas
    49: 1,  # AlterClientQuotas
    50: 0,  # DescribeUserScramCredentials
    51: 0,  # AlterUserScramCredentials
    Api.DESCRIBE_CLUSTER: 0,
    61: 0,  # DescribeProducers
    Api.DESCRIBE_TRANSACTIONS: 0,
    Api.LIST_TRANSACTIONS: 2,
    Api.CONSUMER_GROUP_HEARTBEAT: 1,
    69: 1,  # ConsumerGroupDescribe
    Api.SHARE_GROUP_HEARTBEAT: 1,
    77: 1,  # ShareGroupDescribe
    Api.SHARE_FETCH: 2,
    Api.SHARE_ACKNOWLEDGE: 2,
    Api.STREAMS_GROUP_HEARTBEAT: 0,
    89: 0,  # StreamsGroupDescribe
    Api.DESCRIBE_SHARE_GROUP_OFFSETS: 1,
    91: 0,  # AlterShareGroupOffsets
    92: 0,  # DeleteShareGroupOffsets
}
_SHARE_GROUPS = (Api.SHARE_GROUP_HEARTBEAT, 77, Api.SHARE_FETCH, Api.SHARE_ACKNOWLEDGE)
_OLDEST: Mapping[int, int] = {Api.SASL_HANDSHAKE: 1, **dict.fromkeys(_SHARE_GROUPS, 1)}
"""With version 0 of SaslHandshake, bytes without frames would follow. Those of share groups had
another form before Kafka 4.1."""


def relayed(taken: Versions) -> dict[int, tuple[int, int]]:
    """Return the lowest and highest version of each request that clients may send.

    Args:
        taken: What every broker of the cluster takes.
    """
    found = {
        key: (max(taken[key][0], _OLDEST.get(key, 0)), min(taken[key][1], newest))
        for key, newest in _NEWEST.items()
        if key in taken
    }
    return {key: (low, high) for key, (low, high) in found.items() if low <= high}
