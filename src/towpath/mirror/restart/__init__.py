"""`towpath restart`: copy source topics that were deleted and created again."""
