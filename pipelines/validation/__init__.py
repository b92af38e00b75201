"""Validation of a published dataset: every byte, every statement about it, and consistency across its shards."""
