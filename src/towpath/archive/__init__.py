"""Archives of topics in a store: written, kept in order, read, and restored to a cluster."""
