"""Reading of source partitions for any reader, and handling of trouble there."""
