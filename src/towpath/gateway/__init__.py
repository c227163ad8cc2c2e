"""The gateway: clients connect to its listeners, which relay them to the right cluster."""
