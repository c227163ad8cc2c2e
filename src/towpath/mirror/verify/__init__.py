"""`towpath verify`: whether source and target are equal."""
