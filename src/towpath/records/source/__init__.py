"""Reading source partitions, and what is done about trouble there, for any reader."""
