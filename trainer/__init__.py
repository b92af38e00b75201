"""Shards in, checkpoints and speech out."""
