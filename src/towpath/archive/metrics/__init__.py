"""Metrics of archives and restores: names, meters, and what is measured for each scrape."""
