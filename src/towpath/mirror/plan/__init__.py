"""The plan of a link: its steps, and findings about the records that will be copied."""
