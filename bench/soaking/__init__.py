"""A soak: a link under sustained load and faults, its memory sampled, its records proven."""
