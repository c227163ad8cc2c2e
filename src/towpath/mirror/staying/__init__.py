"""What stays at the source when the clients move."""
