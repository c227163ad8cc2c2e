"""Files of Redpanda Connect with `redpanda_migrator` as links, without changes to them.

Reading goes from the text (`variables.py`) over its fields (`file.py` and the sections beside it)
to the file of a link (`translate.py`). Parity is with Redpanda Connect 4.106.
"""
