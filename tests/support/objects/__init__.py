"""Stores of objects and queues, as the clouds have them."""
