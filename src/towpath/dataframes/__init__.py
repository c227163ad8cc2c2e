"""Kafka for everyone's own PySpark: `spark.read.format("towpath")`, without a connector jar.

    from towpath.dataframes import register
    register(spark)
    frame = spark.read.format("towpath").option("kafka.bootstrap.servers", "a:9092")
    frame = frame.option("subscribe", "orders").load()

Options and columns have the names of Spark's own Kafka source where they mean the same
(docs/spark/dataframes.md).
"""

from towpath.dataframes.source import TowpathSource, register

__all__ = ["TowpathSource", "register"]
