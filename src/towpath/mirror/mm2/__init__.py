"""Exchange with MirrorMaker 2: reading its files and topics, and writing such topics."""
