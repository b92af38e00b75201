"""Where a dataset is stored: a folder of this machine, an object store or HDFS; reading of single records."""
