"""The commands of links."""
