"""The data path: whole batches over non-blocking sockets, and a blocking client."""
