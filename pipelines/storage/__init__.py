"""Where a dataset lies: a folder on this machine, or a place in an object store or on HDFS."""
