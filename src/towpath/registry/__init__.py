"""Floor 2: schema registries over HTTP, with the interface that Confluent's has."""
