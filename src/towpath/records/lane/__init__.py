"""The lane of one partition: fetched batches in, batches to send out, answers in. Pure."""
