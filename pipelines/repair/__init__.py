"""A published dataset rebuilt in part: `repair` for damaged shards, `replay` for rejected utterances."""
