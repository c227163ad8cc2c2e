"""Floor 4: real Kafka brokers on this machine, for `towpath dev`, the demo, tests and benches."""
