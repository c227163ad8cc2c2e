"""The properties files of nodes: what they say in each mode, and how they are changed."""
