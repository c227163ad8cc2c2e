"""Floor 2: clients of schema registries with Confluent's HTTP interface."""
