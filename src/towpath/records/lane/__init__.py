"""The lane of one partition: batches in, batches out, acknowledgements in. Pure."""
