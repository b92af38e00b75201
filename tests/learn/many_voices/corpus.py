"""The corpus of the check with many voices: `python -m tests.learn.many_voices.corpus OUT`.

    OUT/metadata.csv                   audio,text,speaker,language: what the voices of training say
    OUT/wavs/m3/deu_Latn-0004.wav      mono PCM16 at espeak-ng's 22,050 Hz
    OUT/unseen.csv                     the same columns: held-out texts in held-out voices
    OUT/unseen/f4/deu_Latn-0002.wav

Needs Debian's package espeak-ng. The same espeak-ng writes the same bytes every time.
"""

from __future__ import annotations

import csv
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from shared.errors import UserError
from tests.learn.corpus import run_speaker
from tests.learn.many_voices.texts import GRAMMARS, texts_of

# espeak-ng's variants without whispers, and without those that sound like another one: their mean log-mel spectra are
# less than 2 dB apart, and their pitches alike
VOICES = tuple(
    """Alex Alicia Andrea Andy Annie AnxiousAndy Demonic Denis Diogo Gene Gene2 Hugo Jacky Lee Marco Mario Michael Mike
    Nguyen RicishayMax2 Storm Tweaky UniRobot anika announcer antonio aunty belinda benjamin boris caleb croak david ed
    edward edward2 f1 f2 f3 f4 f5 grandma grandpa iven iven2 iven3 iven4 john kaukovalta klatt3 klatt4 linda m1 m2 m3
    m4 m5 m6 m7 m8 marcelo max michel norbert pablo paul pedro quincy rob robert robosoft robosoft2 robosoft3 robosoft5
    robosoft6 robosoft7 robosoft8 sandro shelby steph travis victor zac""".split()
)
FIRST_HELD_OUT, HELD_OUT_EVERY = 4, 7  # every seventh voice is not in training
COLUMNS = ("audio", "text", "speaker", "language")


class Row(NamedTuple):
    """A recording: a row of metadata.csv or unseen.csv."""

    audio: str  # path relative to the corpus
    text: str
    speaker: str
    language: str


def held_out_voices(voices: Sequence[str] = VOICES) -> list[str]:
    """The voices that are not in training."""
    return list(voices[FIRST_HELD_OUT::HELD_OUT_EVERY])


def make_corpus(root: Path, *, voices: Sequence[str] = VOICES, languages: Iterable[str] = GRAMMARS) -> int:
    """Write a corpus of some voices and languages; returns the number of clips of training.

    Raises:
        UserError: espeak-ng is absent, lacks a voice or fails.
    """
    if shutil.which("espeak-ng") is None:
        raise UserError(
            "espeak-ng, which speaks the corpus, is not installed; install it with apt-get install espeak-ng"
        )
    _check_variants(voices)
    held_out = held_out_voices(voices)
    languages, trained = list(languages), [voice for voice in voices if voice not in held_out]
    training = [row for voice in trained for language in languages for row in _rows_of_training(voice, language)]
    unseen = [row for voice in held_out for language in languages for row in _unseen_rows(voice, language)]
    with ThreadPoolExecutor(os.cpu_count()) as executor:
        list(executor.map(lambda row: _speak(row, root=root), training + unseen))
    write_rows(root / "unseen.csv", unseen)
    write_rows(root / "metadata.csv", training)
    return len(training)


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write a table of recordings."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


def read_rows(path: Path) -> list[Row]:
    """Read a table of recordings.

    Raises:
        UserError: there is none.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file; `make learn-check LEVEL=voices` makes the corpus")
    with path.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file)]


def _rows_of_training(voice: str, language: str) -> Iterator[Row]:
    drawn = texts_of(language).drawn(random.Random(f"{voice} {language}"))
    return _rows(drawn, voice=voice, language=language, folder="wavs")


def _unseen_rows(voice: str, language: str) -> Iterator[Row]:
    texts = texts_of(language)
    said = texts.held_out_sentences + texts.held_out_names
    return _rows(said, voice=voice, language=language, folder="unseen")


def _rows(texts: list[str], *, voice: str, language: str, folder: str) -> Iterator[Row]:
    for number, text in enumerate(texts):
        yield Row(f"{folder}/{voice}/{language}-{number:04d}.wav", text, voice, language)


def _check_variants(voices: Sequence[str]) -> None:
    """Raises UserError if espeak-ng lacks a variant: it would speak in its usual voice and say nothing of that."""
    asked = subprocess.run(["espeak-ng", "--voices=variant"], capture_output=True, text=True, check=False)
    known = set(re.findall(r"!v/(\S+)", asked.stdout))
    if missing := sorted(set(voices) - known):
        raise UserError(f"espeak-ng: has no variants {', '.join(missing)}; expected those of version 1.51")


def _speak(row: Row, *, root: Path) -> None:
    """Have espeak-ng speak a text into a wav; raises UserError if espeak-ng fails."""
    out = root / row.audio
    out.parent.mkdir(parents=True, exist_ok=True)
    voice = f"{GRAMMARS[row.language].espeak}+{row.speaker}"
    run_speaker(["espeak-ng", "-v", voice, "-w", str(out), "--", row.text], voice=voice, text=row.text, out=out)


def main() -> None:
    if len(sys.argv) != 2:
        print("usage: python -m tests.learn.many_voices.corpus OUT", file=sys.stderr)
        sys.exit(2)
    try:
        print(f"{sys.argv[1]}: {make_corpus(Path(sys.argv[1]))} clips")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
