"""Reading of source partitions for any reader, and the handling of source errors."""
