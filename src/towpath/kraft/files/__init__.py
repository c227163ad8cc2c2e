"""The properties files of nodes: their content in each mode, and their changes."""
