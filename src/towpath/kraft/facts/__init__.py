"""Observed facts about a cluster that migrates to KRaft. Pure."""
