"""Pictures and JSON outputs of links."""
