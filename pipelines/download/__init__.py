"""Downloads corpora that have a stable public archive."""
