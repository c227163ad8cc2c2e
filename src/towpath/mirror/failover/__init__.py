"""Failover of a link: forecast, sealed, fenced, and recorded on the target alone."""
