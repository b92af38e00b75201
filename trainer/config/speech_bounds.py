"""What may be asked of speech."""

MIN_SPEECH_S, MAX_SPEECH_S = 0.1, 600.0
MAX_TOKENS = 10_000  # of a text; attention takes memory by its square
MAX_REFERENCE_S = 600.0  # a reference longer than this is no clip; only a crop of it is heard
