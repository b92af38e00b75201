"""Speech synthesis from a text and a reference clip; only this package of the trainer imports `preprocess`."""
