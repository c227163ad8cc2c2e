"""Archives of topics in an object store: written, maintained, read, and restored to a cluster."""
