"""Logs of brokers in a store that no archive of ours has: found, and told as if they were one."""
