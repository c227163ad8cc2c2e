"""Floor 1: metrics for any command: their description, a meter, a collector, a server.

Which metrics there are, and what they count, is said where the command is. `server` alone imports
prometheus-client, by way of `collector`, so that it is loaded only where a file says
`metrics.listen`.
"""
