"""The texts of the check with many voices: small grammars of four languages, and names that all four languages share.

sentence = subject verb object; phrase = subject, or subject verb; names = three names, the same in every language
"""

from __future__ import annotations

import itertools
import random
from typing import NamedTuple

SENTENCES, PHRASES, NAMES = 9, 1, 2  # texts of each kind that a voice of training says in each language
HELD_OUT_SENTENCES, HELD_OUT_NAMES = 12, 6  # of each language


class Grammar(NamedTuple):
    """The parts of a language's sentences; any row of one of each is a sentence."""

    espeak: str  # espeak-ng's name of the language
    subjects: tuple[str, ...]
    verbs: tuple[str, ...]
    objects: tuple[str, ...]

    def sentences(self) -> list[str]:
        """Every sentence."""
        return [" ".join(parts) for parts in itertools.product(self.subjects, self.verbs, self.objects)]

    def phrases(self) -> list[str]:
        """Every phrase."""
        pairs = itertools.product(self.subjects, self.verbs)
        return [*self.subjects, *(" ".join(parts) for parts in pairs)]


def _parts(listed: str) -> tuple[str, ...]:
    return tuple(listed.split(", "))


GRAMMARS = {
    "eng_Latn": Grammar(
        "en-us",
        _parts(
            "the doctor, the farmer, the old sailor, my sister, the teacher, a young lady, the captain, our "
            "neighbour, the little boy, the black cat"
        ),
        _parts("follows, remembers, finds, paints, watches, forgets"),
        _parts(
            "the green house, a big dog, the old bridge, the white flower, the small boat, his new book, the long "
            "street, the red apple, two horses, the morning train"
        ),
    ),
    "deu_Latn": Grammar(
        "de",
        _parts(
            "der Arzt, die Lehrerin, der alte Bauer, meine Schwester, der Kapitän, eine junge Frau, unser "
            "Nachbar, der kleine Junge, die schwarze Katze, das Mädchen"
        ),
        _parts("sieht, findet, malt, sucht, zeichnet, beobachtet"),
        _parts(
            "das grüne Haus, einen großen Hund, die alte Brücke, den weißen Vogel, das kleine Boot, sein neues "
            "Buch, die lange Straße, den roten Apfel, zwei Pferde, den frühen Zug"
        ),
    ),
    "spa_Latn": Grammar(
        "es",
        _parts(
            "el médico, la profesora, el viejo campesino, mi hermana, el soldado, una mujer joven, nuestro "
            "vecino, el niño pequeño, el gato negro, la reina"
        ),
        _parts("busca, encuentra, pinta, mira, recuerda, dibuja"),
        _parts(
            "la casa verde, un perro grande, el puente viejo, la flor blanca, el barco pequeño, su libro nuevo, "
            "la calle larga, la manzana roja, dos caballos, el tren de la mañana"
        ),
    ),
    "fra_Latn": Grammar(
        "fr",
        _parts(
            "le médecin, la dame, le vieux paysan, ma cousine, le capitaine, une jeune femme, notre voisin, le "
            "petit garçon, le chat noir, la reine"
        ),
        _parts("cherche, trouve, dessine, regarde, oublie, garde"),
        _parts(
            "la maison verte, un grand chien, le vieux pont, la fleur blanche, le petit bateau, son nouveau "
            "livre, la longue rue, la pomme rouge, deux chevaux, le train du matin"
        ),
    ),
}
SHARED_NAMES = tuple("Daniel Julia Madrid Maria Martin Paris Robert Sandra".split())


class Texts(NamedTuple):
    """The texts of a language, in training and held out."""

    sentences: list[str]
    phrases: list[str]
    names: list[str]
    held_out_sentences: list[str]
    held_out_names: list[str]  # the same in every language

    def drawn(self, chance: random.Random) -> list[str]:
        """What a voice of training says."""
        sentences, phrases = chance.sample(self.sentences, SENTENCES), chance.sample(self.phrases, PHRASES)
        return sentences + phrases + chance.sample(self.names, NAMES)


def texts_of(language: str, *, seed: int = 1) -> Texts:
    """The texts of a language; which of them are held out depends on the seed alone."""
    grammar = GRAMMARS[language]
    sentences, names = grammar.sentences(), [" ".join(three) for three in itertools.permutations(SHARED_NAMES, 3)]
    random.Random(f"{seed} {language}").shuffle(sentences)
    random.Random(seed).shuffle(names)
    return Texts(
        sentences[HELD_OUT_SENTENCES:],
        grammar.phrases(),
        names[HELD_OUT_NAMES:],
        sentences[:HELD_OUT_SENTENCES],
        names[:HELD_OUT_NAMES],
    )
