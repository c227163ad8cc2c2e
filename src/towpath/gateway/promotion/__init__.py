"""Promotions: topics and groups move to the target while their clients are connected, and back."""
