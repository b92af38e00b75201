"""Validation of a dataset: every byte, every claim, and what stands between shards."""
