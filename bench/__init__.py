"""Measurements of Towpath beside MirrorMaker 2 and a raw loader. They assert nothing."""
