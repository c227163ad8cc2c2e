"""The metadata log of the controllers, read over the network as any observer of it reads it."""
