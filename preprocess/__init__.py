"""Preprocessing: turns one utterance into one record. Knows neither Beam nor TensorFlow."""
