"""Objects in Google Cloud Storage."""
