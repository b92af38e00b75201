"""`myxtts-data trace`: from an utterance to its record, its audio file and every parameter, and back.

an id ────────────► hash ─► the shards that may hold it ─┐
a place in a shard ─► its manifest ──────────────────────┼─► rows ─► record, checked ─► account, picture, once more
an audio file ────► the paths of all tables ─────────────┘
"""
