"""Failback: reversing a link that was failed over, without destroying a record."""
