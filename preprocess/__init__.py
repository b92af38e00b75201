"""One utterance in, one record out."""
