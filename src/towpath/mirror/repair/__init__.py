"""Repair of a link: records that the target lost are copied again."""
