"""Builds on Spark, by Beam's job server for Spark."""
