"""Failover of a link: foretold, fenced, and written so that the target alone has all of it."""
