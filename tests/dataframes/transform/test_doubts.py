"""Whether a query makes the same records of the same ones another time."""

from __future__ import annotations

import pytest

from tests.support.here import shared_spark
from towpath.dataframes.sink.options import SinkOptions
from towpath.dataframes.transform.frames import frame_of
from towpath.dataframes.transform.job import TransformJob
from towpath.dataframes.transform.query import LinkQuery
from towpath.model.nouns import LinkName
from towpath.settings import ClusterConfig, TransformConfig

pytestmark = pytest.mark.spark
QUERY = "select {} as value from records"


def test_functions_that_are_random_or_know_the_time_are_found() -> None:
    spark = shared_spark()
    cluster = ClusterConfig(bootstrap="127.0.0.1:1")
    job = TransformJob(LinkName("doubts"), cluster, SinkOptions(cluster))
    wanted = {
        "upper(cast(value as string))": "",
        "concat(value, 'now() uuid()')": "",
        "cast(timestamp as string)": "",
        "uuid()": "the query has functions that are not deterministic",
        "cast(now() as string)": "the query has `now`",
        "concat(value, cast(unix_timestamp() as string))": "the query has `current_timestamp`",
        "cast(current_date() as string)": "the query has `current_date`",
    }
    for made, why in wanted.items():
        query = LinkQuery(spark, TransformConfig(sql=QUERY.format(made)))
        doubts = query.doubts(query.of(frame_of(spark, job)))
        assert (doubts.never, doubts.python, doubts.joins) == (why, False, False), made
    sql = "select value from records join values ('a') as other(k) on cast(value as string) = k"
    query = LinkQuery(spark, TransformConfig(sql=sql))
    doubts = query.doubts(query.of(frame_of(spark, job)))
    assert (doubts.joins, doubts.routes) == (True, False)
    query = LinkQuery(spark, TransformConfig(sql="select value, 'b' as topic from records"))
    assert query.doubts(query.of(frame_of(spark, job))).routes
