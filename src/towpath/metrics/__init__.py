"""Floor 1: what a run counts (`meter`), under which names (`names`), and how Prometheus gets it.

`server` alone imports prometheus-client, by way of `collector`, so that it is loaded only where the
file says `metrics.listen`.
"""
