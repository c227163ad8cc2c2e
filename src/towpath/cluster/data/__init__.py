"""The data path: whole batches over sockets that never block, and clients that may."""
