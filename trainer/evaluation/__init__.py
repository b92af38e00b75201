"""Measures of synthesized speech: words, spectrum, pitch, duration, voice."""
