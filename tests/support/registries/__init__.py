"""Schema registries, proxies before them, and servers of tokens."""
