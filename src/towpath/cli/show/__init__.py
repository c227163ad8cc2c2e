"""What commands show: results, plans, partitions and progress, for people and for programs."""
