"""Objects in Azure Blob Storage."""
