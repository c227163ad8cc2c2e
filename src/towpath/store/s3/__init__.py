"""Objects in S3 and in stores with the same interface."""
