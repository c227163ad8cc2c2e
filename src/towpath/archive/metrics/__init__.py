"""Metrics of archives and restores: names, meters, and measurements for each scrape."""
