"""Floor 4: what stays at the source when the clients move."""
