"""`myxtts-data trace`: find an utterance by id, record or audio file, and show how it was made.

id ──────────────► hash ─► the shards that may hold it ─┐
record in a shard ─► its manifest ──────────────────────┼─► rows ─► record, checked ─► details, spectrogram,
audio file ───────► the paths in all tables ────────────┘                               reproduction
"""
