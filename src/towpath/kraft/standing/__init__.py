"""The standing of a cluster: its stage, its alarms, the meaning of disks and versions. Pure."""
