"""What an archive says: to lanes of Kafka, to queries, to people, and to proofs."""
