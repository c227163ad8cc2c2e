"""The status of a link: its partitions, lags and troubles."""
