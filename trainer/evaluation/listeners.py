"""Listeners: programs that write down the words of speech, so that it can be compared with the text.

pocketsphinx               English, comes with the extra `evaluation`; weak, so read its errors beside those of the
                           recordings
pocketsphinx:WORDS.jsgf    the same under a grammar in Java Speech Grammar Format
faster-whisper:MODEL       a name or a folder, where the package is installed
transformers:MODEL         a speech recognition model by name or folder, where transformers and torch are installed
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import soxr

from shared.errors import UserError
from shared.languages import iso_639_1, resolve_language
from trainer.evaluation.packages import check_packages

RATE_HZ = 16_000
PEAK = 0.7
SILENCE_S = 0.2  # before and after a clip, which recordings for these models have
ENGLISH = "eng_Latn"
WHISPER_NAMES = {"nb": "no", "jv": "jw"}  # of languages that iso_639_1 calls otherwise
MAX_WHISPER_S = 30.0  # of sound that a model of transformers hears at once without marks of time
NONE = "none"


class Listener(Protocol):
    """Writes down the words of speech."""

    def hears(self, language: str) -> bool:
        """True if the listener knows the language, a FLORES-200 code."""
        ...

    def transcribe(self, samples: np.ndarray, *, rate_hz: int, language: str) -> str:
        """The words of a signal [S]; empty if none is heard."""
        ...


def open_listener(name: str) -> Listener | None:
    """The listener of a name as `pocketsphinx` or `faster-whisper:small`; None for `none`.

    Raises:
        UserError: the listener is unknown, its package is not installed, or its model cannot be loaded.
    """
    kind, _, model = name.partition(":")
    if name == NONE:
        return None
    if kind not in _LISTENERS:
        raise UserError(f"listener {name!r}: expected {NONE}, {', '.join(f'{one}[:MODEL]' for one in _LISTENERS)}")
    opened, package = _LISTENERS[kind]
    check_packages(package)
    try:
        return opened(model)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        raise UserError(f"listener {name}: {_first_line(error)}") from error


def transcriber(name: str, *, language: str, rate_hz: int) -> Callable[[np.ndarray], str] | None:
    """A function that writes down the words of a signal [S] in one language; None if the listener is `none`.

    Raises:
        UserError: as of `open_listener`; or the listener does not know the language, or there is no such language.
    """
    code, listener = resolve_language(language), open_listener(name)
    if listener is None:
        return None
    if not listener.hears(code):
        raise UserError(f"listener {name}: does not know {language}")
    return functools.partial(listener.transcribe, rate_hz=rate_hz, language=code)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def prepared_signal(samples: np.ndarray, *, rate_hz: int) -> np.ndarray:
    """The signal [S] float32 at 16 kHz, at a common level, between silences."""
    sound = soxr.resample(samples.astype(np.float32), rate_hz, RATE_HZ)
    return np.pad(sound * (PEAK / max(float(np.abs(sound).max(initial=0.0)), 1e-6)), int(SILENCE_S * RATE_HZ))


def whisper_language(language: str) -> str:
    """The name that Whisper has for a FLORES-200 language."""
    name = iso_639_1(language)
    return WHISPER_NAMES.get(name, name)


class PocketsphinxListener:
    """Carnegie Mellon's recognizer with its model of English, or under a grammar."""

    def __init__(self, grammar_path: str = "", *, grammar: str = ""):
        """`grammar` is the text of a grammar, `grammar_path` its file; both empty: any English."""
        from pocketsphinx import Decoder

        rules = Path(grammar_path).read_text(encoding="utf-8") if grammar_path else grammar
        self._decoder = Decoder(samprate=RATE_HZ, loglevel="FATAL")
        if rules:
            self._decoder.add_jsgf_string("words", rules)
            self._decoder.activate_search("words")

    def hears(self, language: str) -> bool:
        """True for English."""
        return language == ENGLISH

    def transcribe(self, samples: np.ndarray, *, rate_hz: int, language: str = ENGLISH) -> str:
        """The words of a signal [S]; empty if none is heard."""
        sound = prepared_signal(samples, rate_hz=rate_hz)
        self._decoder.start_utt()
        self._decoder.process_raw((sound * 32767).astype("<i2").tobytes(), full_utt=True)
        self._decoder.end_utt()
        hypothesis = self._decoder.hyp()
        return hypothesis.hypstr if hypothesis else ""


class FasterWhisperListener:
    """A Whisper model (Radford et al., 2022) on CTranslate2."""

    def __init__(self, model: str):
        """`model` is a name such as "small", or a folder."""
        from faster_whisper import WhisperModel

        self._model = WhisperModel(model or "small", device="cpu")  # the GPU is the synthesizer's

    def hears(self, language: str) -> bool:
        """True if the model has the language."""
        return whisper_language(language) in self._model.supported_languages

    def transcribe(self, samples: np.ndarray, *, rate_hz: int, language: str) -> str:
        """The words of a signal [S]; empty if none is heard."""
        sound = prepared_signal(samples, rate_hz=rate_hz)
        segments, _ = self._model.transcribe(sound, language=whisper_language(language))
        return " ".join(segment.text.strip() for segment in segments)


class TransformersListener:
    """A speech recognition model of the library transformers."""

    def __init__(self, model: str):
        """`model` is a name on the hub, or a folder."""
        from transformers import pipeline

        if not model:
            raise ValueError("no model; expected transformers:MODEL, such as transformers:openai/whisper-small")
        self._recognize = pipeline("automatic-speech-recognition", model=model, device="cpu")
        # names such as <|en|> of a Whisper model; none of other models, which do not tell their languages
        self._names = getattr(self._recognize.model.generation_config, "lang_to_id", None) or {}
        self._is_whisper = self._recognize.model.config.model_type == "whisper"

    def hears(self, language: str) -> bool:
        """True if a Whisper model has the language; other models are taken for ones of every language."""
        if not self._is_whisper:
            return True
        return f"<|{whisper_language(language)}|>" in self._names if self._names else language == ENGLISH

    def transcribe(self, samples: np.ndarray, *, rate_hz: int, language: str) -> str:
        """The words of a signal [S]; empty if none is heard."""
        sound = prepared_signal(samples, rate_hz=rate_hz)
        options: dict[str, Any] = {}
        if self._names:
            options["generate_kwargs"] = {"language": whisper_language(language)}
        if self._is_whisper and len(sound) > MAX_WHISPER_S * RATE_HZ:
            options["return_timestamps"] = True
        return str(self._recognize({"raw": sound, "sampling_rate": RATE_HZ}, **options)["text"])


# the class of each kind of listener, and the package that it needs
_LISTENERS: dict[str, tuple[Any, str]] = {
    "pocketsphinx": (PocketsphinxListener, "pocketsphinx"),
    "faster-whisper": (FasterWhisperListener, "faster_whisper"),
    "transformers": (TransformersListener, "transformers"),
}
