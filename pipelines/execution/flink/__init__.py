"""Flink as a runner: its files, a cluster on this machine, the way to a cluster anywhere, and its jobs."""
