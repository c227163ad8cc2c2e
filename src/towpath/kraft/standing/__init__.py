"""Where a cluster stands: its stage, its alarms, what its disks and versions mean. Pure."""
