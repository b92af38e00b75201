"""A sentence and a reference clip to a waveform; the one place of the trainer that prepares utterances."""
