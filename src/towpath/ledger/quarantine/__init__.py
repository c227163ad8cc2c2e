"""The topic `__towpath_quarantine`: records that could not be changed or delivered."""
