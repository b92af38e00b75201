from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable

import pytest


def test_a_text_is_shown_as_it_is_read_with_the_reason_for_each_reading(command: Callable) -> None:
    outcome = command("read", "--language", "de", "Am 3. Mai 1984 kosteten 3,5 km z. B. 2 €, Teil 5-7.")
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        "Am 3. Mai 1984 kosteten 3,5 km z. B. 2 €, Teil 5-7.",
        "  Am dritten Mai neunzehnhundertvierundachtzig kosteten drei Komma fünf Kilometer zum Beispiel zwei Euro, "
        "Teil 5-7.",
        "    abbreviation: z. B. -> zum Beispiel",
        "    date: 3. -> dritten",
        "    year: 1984 -> neunzehnhundertvierundachtzig",
        "    unit: 3,5 km -> drei Komma fünf Kilometer",
        "    money: 2 € -> zwei Euro",
        "    left: no reading is certain: 5-7.",
    ]


@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
def test_phonemes_are_shown_below_the_text(command: Callable) -> None:
    outcome = command("read", "--language", "en", "--phonemes", "It sings, 3 times.")
    text, prepared, phonemes, *_ = outcome.out.splitlines()
    assert (text, prepared) == ("It sings, 3 times.", "  It sings, three times.")
    assert phonemes.startswith("  ɪt sˈɪŋz, θɹˈiː ")
    assert phonemes.endswith(".")


def test_the_lines_of_standard_input_are_texts(command: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"5 %\n\nno \xff number\n")))
    outcome = command("read", "--language", "eng_Latn")
    assert outcome.out.splitlines() == [
        "5 %",
        "  five percent",
        "    percent: 5% -> five percent",
        "no \ufffd number",
        "  no \ufffd number",
    ]


def test_a_language_whose_numbers_are_not_read_is_named(command: Callable) -> None:
    outcome = command("read", "--language", "swh_Latn", "vitabu 5")
    assert outcome.out.splitlines()[-1] == "    left: numbers are not read in swh_Latn"


def test_an_unknown_language_is_a_mistake_of_the_user(command: Callable) -> None:
    outcome = command("read", "--language", "xx", "5")
    assert outcome.code == 2
    assert "unknown language 'xx'" in outcome.err
