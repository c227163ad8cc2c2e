"""`df.write` and `df.writeStream` with `format("towpath")`: rows become records of Kafka topics."""
