"""Floor 3: the plan machine. It plans, saves, reviews and applies the steps of any subject."""
