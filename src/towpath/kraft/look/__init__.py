"""What is seen of a cluster at one moment, and how it is looked at."""
