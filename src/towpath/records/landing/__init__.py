"""The lanes of a slice on their way to the target: what joins source, lanes and target."""
