"""The run of an archive: cycles of slices on Spark, and commits of the segments they write."""
