"""Flink as a runner: installation, a cluster on this machine, job submission to any cluster, and jobs."""
