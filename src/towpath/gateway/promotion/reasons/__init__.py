"""The reasons that forbid a promotion, with codes. Pure."""
