"""Limits of a synthesis request: duration, text and reference."""

MIN_SPEECH_S, MAX_SPEECH_S = 0.1, 600.0
MAX_CHARACTERS = 1_000_000  # of a text to speak, hours of speech
MAX_TOKENS = 10_000  # of a text; attention needs memory quadratic in it
MIN_REFERENCE_S = 0.2
MAX_REFERENCE_S = 600.0  # a longer file is not a clip of a voice; only a crop of a reference is used
