"""Floor 0: the nouns of Kafka and of Towpath as frozen values without I/O."""
