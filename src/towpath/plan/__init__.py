"""Floor 3: the plan machine: builds, saves, reviews and applies plans for any subject."""
