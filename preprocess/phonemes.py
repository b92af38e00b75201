"""A text normalizer that writes texts in phonemes: `text_normalizer: espeak-ng`.

    text ─ divided at punctuation ─► parts ─ espeak-ng ─► phonemes of the International Phonetic Alphabet, punctuation

The program espeak-ng (Debian's package of this name) runs for each part. It reads numbers and abbreviations itself.
Its version is part of the contract, with the sha256 of this file. Punctuation stays where it is. Letters that NLLB's
vocabulary lacks are written by others of the alphabet, or as in X-SAMPA (Wells, 1995, "Computer-coding the IPA").
"""

from __future__ import annotations

import functools
import re
import subprocess

from shared.languages import iso_639_1, unicode_scripts

PROGRAM = "espeak-ng"
TIMEOUT_S = 30
VOICES = {"eng_Latn": "en-us"}  # of the other languages, that of the name in ISO 639

_MARKS = re.escape('.,;:!?…—–()[]"«»“”„¿¡،؛؟۔।')
# at the beginning and at the end of words, so that 12:30 and 3.14 stay whole
_PUNCTUATION = re.compile(rf"((?<!\S)[{_MARKS}]+|[{_MARKS}]+(?!\S))")
_OTHER_VOICE = re.compile(r"\([a-z-]+\)")  # names the language of foreign words
_INSTEAD = str.maketrans(
    {
        "ʈ": "t̠",
        "ɭ": "l̠",
        "ɻ": "ɹ̠",
        "ɽ": "ɾ̠",
        "ɚ": "əɹ",
        "ᵻ": "I\\",
        "ʑ": "z\\",
        "ʝ": "j\\",
        "ʕ": "ʿ",
        "ɫ": "l_e",
        "ʦ": "ts",
    }
    | {"\u031d": "_r", "\u031e": "_o", "\u033a": "_a", "\u033b": "_m"}
)


def to_phonemes(text: str, *, language: str) -> str:
    """The phonemes of a text, with its punctuation.

    Args:
        language: a FLORES-200 code.

    Raises:
        ValueError: espeak-ng has no voice for the language, cannot read its script, or writes its tones as digits.
        RuntimeError: espeak-ng fails.
    """
    if "Hani" in unicode_scripts(language):  # spoken as "Chinese letter"
        raise ValueError(f"espeak-ng cannot read the Chinese characters of {language}")
    voice = VOICES.get(language, iso_639_1(language))
    if voice not in _voices():
        raise ValueError(f"espeak-ng has no voice {voice}, expected one of {', '.join(sorted(_voices()))}")
    parts = _PUNCTUATION.split(text)  # the marks are every second one
    parts[::2] = [_phonemes(part, voice=voice) for part in parts[::2]]
    return "".join(parts)


def _phonemes(part: str, *, voice: str) -> str:
    """The phonemes of a part of a text, between its spaces; nothing is said of a part without a letter or a digit."""
    if not any(character.isalnum() for character in part):
        return part
    found = _run("-q", "--ipa", "-b", "1", "-v", voice, "--stdin", text=part.strip().replace("[[", "[ ["))
    spoken = " ".join(_OTHER_VOICE.sub("", found).split()).translate(_INSTEAD)
    if any(character.isdigit() for character in spoken):
        raise ValueError(f"espeak-ng writes tones of the voice {voice} as digits, which would be read as numbers")
    before, after = (" " * (side != part) for side in (part.lstrip(), part.rstrip()))
    return f"{before}{spoken}{after}"


def tool_version() -> str:
    """The version of espeak-ng, such as "espeak-ng 1.51"."""
    found = re.search(r"[\d.]+[-\w]*", _run("--version"))
    return f"{PROGRAM} {found.group() if found else 'of an unknown version'}"


@functools.lru_cache(maxsize=1)
def _voices() -> frozenset[str]:
    """The names of espeak-ng's voices: the second column of its list, below a header."""
    return frozenset(line.split()[1] for line in _run("--voices").splitlines()[1:])


def _run(*words: str, text: str = "") -> str:
    try:
        ended = subprocess.run(
            [PROGRAM, *words], input=text.encode(), capture_output=True, timeout=TIMEOUT_S, check=True
        )
    except FileNotFoundError as error:
        raise RuntimeError(f"the program {PROGRAM} is not installed: apt-get install {PROGRAM}") from error
    except subprocess.SubprocessError as error:
        raise RuntimeError(f"{PROGRAM} failed: {error}") from error
    return ended.stdout.decode()
