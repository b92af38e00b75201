"""Limits of a synthesis request: duration, text and reference."""

MIN_SPEECH_S, MAX_SPEECH_S = 0.1, 600.0
MIN_SPEED, MAX_SPEED = 0.25, 4.0  # as in OpenAI's API
MAX_TEMPERATURE = 2.0
MAX_GUIDANCE = 5.0
MAX_VISIT_S = 1.5  # that the attention may stay at a token before the guide pushes it on
MAX_TAIL_S = 1.0  # of speech after the attention has reached the end of the text; less where the pace is known
MAX_PAUSE_S = 1.2  # within a sentence; a longer one is implausible
TAIL_SILENCE_S = 0.2  # that is kept at the end of a sentence
MAX_CHARACTERS = 1_000_000  # of a text to speak, hours of speech
MAX_TOKENS = 10_000  # of a text; attention needs memory quadratic in it
MIN_REFERENCE_S = 0.2
MAX_REFERENCE_VALUES = 120_000_000  # samples times channels of a clip, before it is mixed and resampled
MIN_REFERENCE_DB = -60.0  # peak below full scale; a quieter clip is silence
MAX_REFERENCE_S = 600.0  # of all clips of a voice together; a longer file is not a clip of a voice
