"""The Parquet tables of datasets, loaded, joined and compared; no page and no terminal output."""
