"""Phonemes by espeak-ng: symbols of the International Phonetic Alphabet that a tokenizer gets in place of letters.

The setting `phonemizer: espeak-ng` of a build gives the prepared texts to the library of espeak-ng, which must be
installed; nothing of it is part of this software. The words between two signs of punctuation are spoken in one go.
Punctuation and signs stay as they are, but for quotation marks, and so do letters of scripts that espeak-ng would read
by their names. The text of a record is that in letters.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import threading
from collections.abc import Callable
from pathlib import Path

import regex

from shared.dataset import PhonemizerIdentity
from shared.errors import UserError
from shared.languages import unicode_scripts

NAME = "espeak-ng"
RULES = "1"  # of this module; part of the contract, since they decide the phonemes as espeak-ng does
INSTALL = "install it, such as by `apt-get install espeak-ng`"
LIBRARIES = ("libespeak-ng.so.1", "libespeak-ng.dylib")

# FLORES-200 code -> voice: the languages whose texts were tried here. Thai, Burmese, Chinese and Japanese, for example,
# espeak-ng 1.51 reads letter by letter.
VOICES = dict(
    pair.split("=")
    for pair in """
    arb_Arab=ar ben_Beng=bn bul_Cyrl=bg cat_Latn=ca ces_Latn=cs dan_Latn=da deu_Latn=de ell_Grek=el eng_Latn=en-us
    est_Latn=et fin_Latn=fi fra_Latn=fr hin_Deva=hi hrv_Latn=hr hun_Latn=hu ind_Latn=id ita_Latn=it kaz_Cyrl=kk
    kor_Hang=ko lit_Latn=lt nld_Latn=nl nob_Latn=nb pes_Arab=fa pol_Latn=pl por_Latn=pt ron_Latn=ro rus_Cyrl=ru
    slk_Latn=sk slv_Latn=sl spa_Latn=es srp_Cyrl=sr swe_Latn=sv swh_Latn=sw tam_Taml=ta tel_Telu=te tur_Latn=tr
    ukr_Cyrl=uk urd_Arab=ur vie_Latn=vi zsm_Latn=ms
    """.split()
)
_READ_EVERYWHERE = ("Latn", "Grek", "Zinh", "Zyyy")  # scripts that every voice reads; Greek letters by their names
_QUOTES = "\"'«»“”„‘’"
_SWITCH = regex.compile(r"\([a-z]{2,3}(?:-[a-z0-9]+)*\)")  # to the voice of another language, and back
# What espeak-ng's own names of phonemes have where it knows no symbol of the alphabet: the mark of the same meaning. A
# question mark would be taken for that of the text.
_MARKS = str.maketrans(
    {"?": "ʔ", "@": "ə", "^": "ʲ", ";": "ʲ", '"': "\u0308", "[": "\u032a", ".": "\u0323", "-": "", "_": ""}
)

_RETRIEVAL = 1  # espeak_AUDIO_OUTPUT: nothing is played
_DONT_EXIT = 0x8000  # espeakINITIALIZE_DONT_EXIT: without its data the process would end
_UTF_8, _IPA = 1, 2  # of espeak_TextToPhonemes
_lock = threading.RLock()  # the library is one for the process, with one voice at a time


class Phonemizer:
    """espeak-ng's library; pickled as its name, and loaded again where it is unpickled."""

    def __init__(self) -> None:
        """Load the library.

        Raises:
            UserError: it is not installed, or its data are not.
        """
        with _lock:
            self._library = _load()
            self.identity = _identity(self._library)
        self._voice = ""
        self._clause_phonemes = functools.lru_cache(1 << 14)(self._spoken_clause)

    def __reduce__(self) -> tuple[Callable[[], Phonemizer], tuple[()]]:
        return load_phonemizer, ()

    def __call__(self, text: str, *, language: str) -> str:
        """The phonemes of a prepared text, with its punctuation.

        Args:
            language: a FLORES-200 code.

        Raises:
            UserError: espeak-ng reads no such language.
        """
        self.check_language(language)
        spoken = _clauses(language).sub(lambda match: self._clause_phonemes(match[0], VOICES[language]), text)
        return " ".join(spoken.translate(_WITHOUT_QUOTES).split())

    def reads(self, language: str) -> bool:
        """True if espeak-ng reads a language."""
        return language in VOICES

    def check_language(self, language: str) -> None:
        """Raise UserError unless espeak-ng reads a language."""
        if not self.reads(language):
            raise UserError(f"phonemizer {NAME}: does not read {language}; expected one of {', '.join(sorted(VOICES))}")

    def _spoken_clause(self, words: str, voice: str) -> str:
        """The phonemes of words without punctuation.

        Raises:
            UserError: the installed espeak-ng has no such voice.
        """
        text = ctypes.create_string_buffer(" ".join(words.translate(_WITHOUT_QUOTES_AROUND).split()).encode())
        rest, parts = ctypes.c_void_p(ctypes.addressof(text)), []
        with _lock:
            if voice != self._voice and self._library.espeak_SetVoiceByName(voice.encode()) != 0:
                raise UserError(f"phonemizer {NAME} {self.identity.version}: it has no voice {voice}")
            self._voice = voice
            while rest.value:
                parts.append(self._library.espeak_TextToPhonemes(ctypes.byref(rest), _UTF_8, _IPA).decode())
        return _SWITCH.sub("", " ".join(parts)).translate(_MARKS).strip()


# An apostrophe within a word is one; at its edges it is a quotation mark.
_WITHOUT_QUOTES = dict.fromkeys(map(ord, _QUOTES))
_WITHOUT_QUOTES_AROUND = dict.fromkeys(map(ord, _QUOTES.replace("'", "").replace("’", "")))


def load_phonemizer() -> Phonemizer:
    """Load the library once a process; raises UserError as Phonemizer does."""
    with _lock:
        return _loaded()


_loaded = functools.cache(Phonemizer)


def phonemizer_of(identity: PhonemizerIdentity | None) -> Phonemizer | None:
    """The phonemizer that a contract names; None if it names none.

    Raises:
        UserError: espeak-ng is not installed, or in another version or with other data than those of the contract.
    """
    if identity is None:
        return None
    here = load_phonemizer().identity
    if here != identity:
        found, expected = (
            f"{one.name} {one.version}, rules {one.rules}, data {one.sha256[:8]}…" for one in (here, identity)
        )
        raise UserError(f"phonemizer: installed is {found}; expected {expected}, with which the dataset was made")
    return load_phonemizer()


@functools.cache
def _clauses(language: str) -> regex.Pattern[str]:
    """A pattern of the words between two signs of punctuation, with the spaces and quotation marks between them.

    A word has letters, marks and digits of scripts that the voice reads, and within it apostrophes, hyphens, and the
    signs of numbers and of names such as `example.com`.
    """
    scripts = "".join(rf"\p{{Script={name}}}" for name in (*unicode_scripts(language), *_READ_EVERYWHERE))
    letters = rf"[[\p{{L}}\p{{M}}\p{{N}}\u200c]&&[{scripts}]]"  # with the non-joiner of Persian
    word = rf"{letters}+(?:['’\-־·.,:]{letters}+)*"
    return regex.compile(rf"(?V1){word}(?:[\s{_QUOTES}]+{word})*")


def _load() -> ctypes.CDLL:
    for name in LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.espeak_TextToPhonemes.restype = library.espeak_Info.restype = ctypes.c_char_p
        if library.espeak_Initialize(_RETRIEVAL, 0, None, _DONT_EXIT) <= 0:  # the rate of its sound
            raise UserError(f"phonemizer {NAME}: {name} finds no data; {INSTALL}")
        return library
    raise UserError(f"phonemizer {NAME}: it is not installed; {INSTALL}")


def _identity(library: ctypes.CDLL) -> PhonemizerIdentity:
    """The version of the library, and the sha256 of its data: sounds, languages and dictionaries.

    Raises:
        UserError: the data cannot be read.
    """
    folder = ctypes.c_char_p()
    version = library.espeak_Info(ctypes.byref(folder)).decode()
    data, digest = Path((folder.value or b"").decode()), hashlib.sha256()
    sounds = [data / name for name in ("phontab", "phonindex", "phondata")]
    languages = (path for path in (data / "lang").rglob("*") if path.is_file())
    try:
        for path in sorted([*sounds, *data.glob("*_dict"), *languages]):
            digest.update(str(path.relative_to(data)).encode() + hashlib.sha256(path.read_bytes()).digest())
    except OSError as error:
        raise UserError(f"phonemizer {NAME}: {error.filename}: {error.strerror}; {INSTALL}") from error
    return PhonemizerIdentity(name=NAME, version=version, rules=RULES, sha256=digest.hexdigest())
