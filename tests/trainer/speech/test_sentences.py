"""Texts are divided at the ends of sentences, long sentences at the best places, and no word is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preprocess.text import spoken_characters
from trainer.speech.sentences import (
    CLAUSE_PAUSE_S,
    PARAGRAPH_PAUSE_S,
    PART_PAUSE_S,
    SENTENCE_PAUSE_S,
    TextPiece,
    fit_piece,
    split_text,
)


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        (
            "eng_Latn",
            'Dr. Smith paid $3.50 at 5 p.m. on Jan. 3. He left! "Really?" she asked. The U.S.A. is big.',
            [
                "Dr. Smith paid $3.50 at 5 p.m. on Jan. 3.",
                "He left!",
                '"Really?" she asked.',
                "The U.S.A. is big.",
            ],
        ),
        (
            "deu_Latn",
            "Am 3. Mai kam Dr. Meier um 15.30 Uhr. Er blieb.",
            ["Am 3. Mai kam Dr. Meier um 15.30 Uhr.", "Er blieb."],
        ),
        ("deu_Latn", "Wir kommen am 3. Mai, ihr auch.", ["Wir kommen am 3. Mai, ihr auch."]),
        ("deu_Latn", "Im 19. Jahrhundert war es so. Ruhe.", ["Im 19. Jahrhundert war es so.", "Ruhe."]),
        ("deu_Latn", "Es begann 1945. Der Krieg endete.", ["Es begann 1945.", "Der Krieg endete."]),
        ("deu_Latn", "Er wurde 3. Sie wurde 4.", ["Er wurde 3.", "Sie wurde 4."]),
        ("pol_Latn", "W 19. wieku było tak. Cisza.", ["W 19. wieku było tak.", "Cisza."]),
        ("nob_Latn", "Det var 17. mai. Vi gikk.", ["Det var 17. mai.", "Vi gikk."]),
        ("fra_Latn", "M. Dupont a payé 3,50 €. C'est vrai ?", ["M. Dupont a payé 3,50 €.", "C'est vrai ?"]),
        ("fra_Latn", "Voici le Dr. Müller. Il est là.", ["Voici le Dr. Müller.", "Il est là."]),
        ("fra_Latn", "C'était en 50 av. J.-C. à Rome. Vraiment.", ["C'était en 50 av. J.-C. à Rome.", "Vraiment."]),
        ("fra_Latn", "Fermez, s. v. p. la porte. Merci.", ["Fermez, s. v. p. la porte.", "Merci."]),
        ("eng_Latn", "See vol. 5 and Ch. 3. It is there.", ["See vol. 5 and Ch. 3.", "It is there."]),
        ("eng_Latn", "He came at 5 p.m. She left.", ["He came at 5 p.m.", "She left."]),
        ("por_Latn", "A Av. Paulista é longa. A Srta. Silva vem.", ["A Av. Paulista é longa.", "A Srta. Silva vem."]),
        ("swe_Latn", "Det är bl. a. bra. Ja då.", ["Det är bl. a. bra.", "Ja då."]),
        ("pol_Latn", "To 5 proc. ludzi i 3 godz. pracy. Tak jest.", ["To 5 proc. ludzi i 3 godz. pracy.", "Tak jest."]),
        ("deu_Latn", "Es kostet 5 Mio. Euro. Das ist gut.", ["Es kostet 5 Mio. Euro.", "Das ist gut."]),
        ("pol_Latn", "To m. in. dobrze. Tak jest.", ["To m. in. dobrze.", "Tak jest."]),
        ("dan_Latn", "Det var 50 e. Kr. i Rom. Ja da.", ["Det var 50 e. Kr. i Rom.", "Ja da."]),
        ("pes_Arab", "این یک جمله است. آیا خوب است؟", ["این یک جمله است.", "آیا خوب است؟"]),
        ("hin_Deva", "यह एक वाक्य है। क्या आप ठीक हैं?", ["यह एक वाक्य है।", "क्या आप ठीक हैं?"]),
        ("zho_Hans", "今天天气很好。我们去公园吧！", ["今天天气很好。", "我们去公园吧！"]),
        ("kbp_Latn", "One sentence here. Two of them.", ["One sentence here.", "Two of them."]),
    ],
)
def test_sentences_end_where_they_end_in_their_language(language: str, text: str, sentences: list[str]) -> None:
    assert [piece.text for piece in split_text(text, language=language)] == sentences


def test_pauses_are_longer_between_paragraphs_and_none_follows_the_last_sentence() -> None:
    pieces = split_text("One is here.\nTwo is too. \n \n Three comes.\n\n***\n\nFour ends.", language="eng_Latn")
    assert pieces == [
        TextPiece("One is here.", SENTENCE_PAUSE_S),
        TextPiece("Two is too.", PARAGRAPH_PAUSE_S),
        TextPiece("Three comes.", PARAGRAPH_PAUSE_S),
        TextPiece("Four ends.", 0.0),
    ]


def test_a_sentence_of_a_few_letters_is_spoken_with_its_neighbour() -> None:
    found = split_text("Yes. No. The kettle sings. Go.\n\nHi.\n\nOh. I see.", language="eng_Latn")
    assert [piece.text for piece in found] == ["Yes. No.", "The kettle sings. Go.", "Hi.", "Oh. I see."]


@pytest.mark.parametrize("text", ["", " \n\n ", "... !!!", "😀"])
def test_a_text_without_words_has_no_sentences(text: str) -> None:
    assert split_text(text, language="eng_Latn") == []


@pytest.mark.parametrize(
    ("most", "parts"),
    [
        (200, ["Long, with commas; and semicolons, here and everywhere."]),
        (40, ["Long, with commas;", "and semicolons, here and everywhere."]),
        (25, ["Long, with commas;", "and semicolons,", "here and everywhere."]),
        (13, ["Long,", "with commas;", "and", "semicolons,", "here and", "everywhere."]),
        (7, ["Long,", "with", "commas;", "and", "semicol", "ons,", "here", "and", "everywh", "ere."]),
    ],
)
def test_a_long_sentence_is_divided_at_the_best_places(most: int, parts: list[str]) -> None:
    piece = TextPiece("Long, with commas; and semicolons, here and everywhere.", 0.7)
    fitted = fit_piece(piece, count=len, most=most)
    assert [one.text for one in fitted] == parts
    pauses_s = [CLAUSE_PAUSE_S if part.endswith(";") else PART_PAUSE_S for part in parts[:-1]]
    assert [one.pause_s for one in fitted] == [*pauses_s, 0.7]


def test_the_last_part_of_a_sentence_is_not_a_single_word() -> None:
    text = "one two three four five six seven eight nine ten six"
    fitted = fit_piece(TextPiece(text, 0.0), count=len, most=len(text) - 3)
    assert [one.text for one in fitted] == ["one two three four five six", "seven eight nine ten six"]


@settings(max_examples=200)
@given(text=st.text(alphabet="ab1 ,;.!?\n—。", max_size=200), most=st.integers(3, 40))
def test_no_letter_is_lost_and_no_part_is_too_long(text: str, most: int) -> None:
    pieces = split_text(text, language="eng_Latn")
    parts = [part for piece in pieces for part in fit_piece(piece, count=len, most=most)]
    assert "".join(spoken_characters(part.text) for part in parts) == spoken_characters(text)
    assert all(spoken_characters(part.text) for part in parts)
    assert all(len(part.text) <= most for part in parts)


def test_a_long_sentence_is_not_divided_within_a_number() -> None:
    text = (
        "The train that left at 12:30 carried 3,500 people: some of them, 1,200 or so, went home at 9:45 in the evening"
    )
    parts = [part.text for part in fit_piece(TextPiece(text, 0.0), count=len, most=40)]
    assert " ".join(parts) == text
    assert all(any(number in part for part in parts) for number in ("12:30", "3,500", "1,200", "9:45"))


def test_a_row_of_signs_costs_little_and_does_not_make_a_text_long() -> None:
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return len(text)

    for text in ("Hi" + "!" * 4_000, "Hi " + "… " * 2_000, "Hi" + "," * 4_000 + " you"):
        parts = [
            one for piece in split_text(text, language="eng_Latn") for one in fit_piece(piece, count=count, most=60)
        ]
        assert max(len(part.text) for part in parts) <= 60
        assert "".join(spoken_characters(part.text) for part in parts) == spoken_characters(text)
    assert counted < 3_000_000
