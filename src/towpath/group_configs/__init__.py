"""Floor 4: configs of groups and of client metrics, kept alike on both clusters."""
