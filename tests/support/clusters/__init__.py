"""Real clusters: how they start, are shared and secured, and what goes wrong on their disks."""
