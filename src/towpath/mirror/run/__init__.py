"""The run of a link: rounds on Spark, and what is kept up beside them."""
