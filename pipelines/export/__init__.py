"""Copies of a dataset in the formats of other software."""
