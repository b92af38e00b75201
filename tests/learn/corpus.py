"""The corpus of the learn check: every text spoken by two of flite's voices: `python -m tests.learn.corpus OUT`.

    OUT/metadata.csv         audio,text,speaker: a header, commas
    OUT/wavs/slt-000.wav     mono PCM16 at flite's 16 kHz
    OUT/grammar.jsgf         the texts that there can be

Needs Debian's package flite. The same flite writes the same bytes every time.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from shared.errors import UserError
from tests.learn.grammar import jsgf, texts

VOICES = ("slt", "rms")
SENTENCES = 400


def make_corpus(root: Path, *, count: int = SENTENCES) -> int:
    """Write a corpus of `count` sentences, and phrases beside them; returns the number of clips.

    Raises:
        UserError: flite is absent, lacks a voice or fails.
    """
    if shutil.which("flite") is None:
        raise UserError("flite, which speaks the corpus, is not installed; install it with apt-get install flite")
    (root / "wavs").mkdir(parents=True, exist_ok=True)
    rows = [
        (f"wavs/{voice}-{number:03d}.wav", text, voice) for number, text in enumerate(texts(count)) for voice in VOICES
    ]
    with ThreadPoolExecutor() as executor:
        list(executor.map(lambda row: speak(row[1], voice=row[2], out=root / row[0]), rows))
    (root / "grammar.jsgf").write_text(jsgf(), encoding="utf-8")
    with (root / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("audio", "text", "speaker"), *rows])
    return len(rows)


def speak(text: str, *, voice: str, out: Path) -> None:
    """Have flite speak a text into a wav; raises UserError if flite fails."""
    run_speaker(["flite", "-voice", voice, "-t", text, "-o", str(out)], voice=voice, text=text, out=out)


def run_speaker(words: list[str], *, voice: str, text: str, out: Path) -> None:
    """Run a program that speaks a text into a wav; raises UserError if it fails."""
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if ended.returncode != 0 or not out.exists():
        raise UserError(f"{words[0]}: {voice} did not speak {text!r} ({ended.stderr.strip() or ended.returncode})")


def main() -> None:
    if len(sys.argv) != 2:
        print("usage: python -m tests.learn.corpus OUT", file=sys.stderr)
        sys.exit(2)
    try:
        print(f"{sys.argv[1]}: {make_corpus(Path(sys.argv[1]))} clips")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
