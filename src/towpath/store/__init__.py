"""Floor 2: objects in a store: a bucket, a container, or a folder."""
