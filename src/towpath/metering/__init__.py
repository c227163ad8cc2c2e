"""Floor 1: metrics of any command: their form, one meter, one collector, one server.

Which metrics there are, and what they count, is said where the command is. `server` alone imports
prometheus-client, by way of `collector`, so that it is loaded only where a file says
`metrics.listen`.
"""
