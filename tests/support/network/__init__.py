"""What lies between a test and a server: proxies, gates and servers of raw bytes."""
