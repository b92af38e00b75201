"""Descriptions of a dataset for other software, in files beside it."""
