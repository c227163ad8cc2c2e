"""Floor 5: `towpath verify`: whether source and target are equal."""
