"""The interpretation of an observation: stage, alarms, lost disks, versions. Pure."""
