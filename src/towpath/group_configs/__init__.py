"""Floor 4: configs of groups and of client metrics, kept the same on both clusters."""
