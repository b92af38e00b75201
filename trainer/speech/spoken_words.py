"""What a listener wrote down, in the form of a dataset's texts."""

from __future__ import annotations

from preprocess.text import prepare_text


def prepare_heard(heard: str, *, language: str) -> str:
    """A transcript prepared as the texts of datasets are: numbers and abbreviations in words."""
    return prepare_text(heard, language=language).text
