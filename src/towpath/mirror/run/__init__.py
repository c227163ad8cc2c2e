"""The run of a link: rounds of copying on Spark, and the syncs beside them."""
