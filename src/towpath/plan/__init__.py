"""Floor 5: plans and runs. `build` makes a plan, `explain` words it, `run` mirrors."""
