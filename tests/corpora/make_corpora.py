"""Make the sample corpora and their tokenizer from `sentences/`: `python tests/corpora/make_corpora.py`.

Needs the programs flite (English) and espeak-ng (German, Persian) and the project installed with its
`preprocess` extra. The same versions of the programs and libraries write the same bytes every time.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile as sf
import soxr
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from shared.languages import CODES, FIRST_ID

HERE = Path(__file__).resolve().parent

PEAK = 0.7  # of full scale, every clip
SILENCE = 10 ** (-45 / 20)  # quieter than this part of the clip's peak is silence
MARGIN_S = 0.1  # silence left before and after the speech
STRETCH = 0.92  # flite's durations times this
LJSPEECH_HZ = 22_050
COMMON_VOICE_HZ = 32_000
MP3_LEVEL = (320 - 48) / (320 - 32)  # libsndfile's 0..1 runs from 320 down to 32 kbit/s: 48 kbit/s

HEADER = "client_id path sentence up_votes down_votes age gender accents variant locale segment"
COLUMNS = tuple(HEADER.split())

UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TEENS = tuple(f"{stem}teen" for stem in ("thir", "four", "fif", "six", "seven", "eigh", "nine"))
ONES = (*UNITS, "ten", "eleven", "twelve", *TEENS)
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
TITLES = {"Dr.": "Doctor", "Mr.": "Mister"}
TO_ASCII = str.maketrans("“”‘’–—", "\"\"''--")

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
PIECES = 600  # ids 0..599 at most, the four special tokens included
ALPHABET = (
    "".join(map(chr, range(0x21, 0x7F)))  # printable ASCII
    + "äöüÄÖÜßẞéèêàáâçñ§°€£"
    + "“”„‟‘’‚‛«»‹›–—•"
    + "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهويپچژکگۀیى"
    + "".join(map(chr, range(0x64B, 0x656)))  # Arabic vowel signs, hamza above and below
    + "\u0670\u0640\u200c"  # dagger alef, tatweel, zero-width non-joiner
    + "۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩،؛؟٪٫٬"
    + "▁"
)


@dataclass(frozen=True)
class Voice:
    """One speaker of a Common Voice corpus: an espeak-ng voice and its speed in words a minute."""

    name: str
    gender: str
    speed: int


@dataclass(frozen=True)
class Corpus:
    """One Common Voice corpus: its folder's name, its locale, its sentences' language, its two speakers."""

    folder: str
    locale: str
    language: str
    voices: tuple[Voice, Voice]


COMMON_VOICE = (
    Corpus("german", "de", "deu_Latn", (Voice("de+m3", "male", 160), Voice("de+f2", "female", 150))),
    Corpus("persian", "fa", "pes_Arab", (Voice("fa+m1", "male", 180), Voice("fa+f2", "female", 170))),
)


def sentences(language: str) -> list[str]:
    """The lines of `sentences/LANGUAGE.txt`."""
    return (HERE / "sentences" / f"{language}.txt").read_text("utf-8").splitlines()


def in_words(number: int) -> str:
    """A number below 2,000 read out in English; from 1,110 on as a year."""
    if number < 20:
        return ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return TENS[tens] + (f"-{ONES[ones]}" if ones else "")
    hundreds, rest = divmod(number, 100)
    if number < 1000:
        return f"{ONES[hundreds]} hundred" + (f" and {in_words(rest)}" if rest else "")
    if number < 1110 or number >= 2000 or rest < 10:
        raise ValueError(f"no reading for {number}")
    return f"{in_words(hundreds)} {in_words(rest)}"


def normalised(sentence: str) -> str:
    """An English sentence with its numbers and titles read out in words."""
    for title, word in TITLES.items():
        sentence = sentence.replace(title, word)
    return re.sub(r"\d+", lambda found: in_words(int(found[0])), sentence)


def trimmed(signal: np.ndarray, *, rate: int) -> np.ndarray:
    """A mono signal [samples] at `rate` Hz with `MARGIN_S` of silence at each end and its peak at `PEAK`."""
    level = np.abs(signal)
    loud = np.flatnonzero(level > SILENCE * level.max())
    margin = round(MARGIN_S * rate)
    cut = signal[max(loud[0] - margin, 0) : loud[-1] + 1 + margin]
    return cut * (PEAK / level.max())


def recorded(command: list[str], *, rate: int, text: str = "") -> np.ndarray:
    """What `command` says, as [samples] at `rate` Hz; `{wav}` in it becomes a file, `text` its input."""
    with tempfile.TemporaryDirectory() as folder:
        wav = Path(folder) / "said.wav"
        filled = [str(wav) if word == "{wav}" else word for word in command]
        subprocess.run(filled, input=text.encode(), check=True, stdout=subprocess.DEVNULL)
        signal, own_rate = sf.read(wav)
    return trimmed(soxr.resample(signal, own_rate, rate, quality="HQ"), rate=rate)


def said_by_flite(text: str, *, rate: int) -> np.ndarray:
    """English text in CMU's voice slt, [samples] at `rate` Hz."""
    plain = text.translate(TO_ASCII)
    options = ["-voice", "slt", "--setf", f"duration_stretch={STRETCH}"]
    return recorded(["flite", *options, "-t", plain, "-o", "{wav}"], rate=rate)


def said_by_espeak(text: str, *, voice: Voice, rate: int) -> np.ndarray:
    """Text in an espeak-ng voice, [samples] at `rate` Hz."""
    options = ["-v", voice.name, "-s", str(voice.speed), "-b", "1", "--stdin"]
    return recorded(["espeak-ng", *options, "-w", "{wav}"], rate=rate, text=text)


def fresh(folder: Path) -> Path:
    """Make an empty folder, removing an older one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def write_lines(path: Path, *, lines: Iterable[str]) -> None:
    """UTF-8 with `\\n` line ends on every system."""
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


def make_ljspeech() -> None:
    """`english/` in LJSpeech 1.1's layout: one speaker, PCM16 at 22,050 Hz."""
    root = fresh(HERE / "english")
    wavs = fresh(root / "wavs")
    rows = []
    for number, sentence in enumerate(sentences("eng_Latn"), start=1):
        name, spoken = f"EN001-{number:04d}", normalised(sentence)
        signal = said_by_flite(spoken, rate=LJSPEECH_HZ)
        sf.write(wavs / f"{name}.wav", signal, LJSPEECH_HZ, subtype="PCM_16")
        rows.append(f"{name}|{sentence}|{spoken}")
    write_lines(root / "metadata.csv", lines=rows)


def write_mp3(path: Path, *, signal: np.ndarray) -> None:
    """Mono MP3 at `COMMON_VOICE_HZ` and 48 kbit/s from [samples]."""
    form = {"format": "MP3", "subtype": "MPEG_LAYER_III", "bitrate_mode": "CONSTANT"}
    sf.write(path, signal, COMMON_VOICE_HZ, compression_level=MP3_LEVEL, **form)


def row(*, sentence: str, clip: str, voice: Voice, locale: str) -> str:
    """One tab-separated line of `validated.tsv`; the columns not named here are empty."""
    speaker = hashlib.sha256(f"sample speaker {voice.name}".encode()).hexdigest()
    known = {"client_id": speaker, "path": clip, "sentence": sentence, "locale": locale}
    known |= {"up_votes": "2", "down_votes": "0", "gender": voice.gender}
    return "\t".join(known.get(column, "") for column in COLUMNS)


def make_common_voice(corpus: Corpus) -> None:
    """`FOLDER/LOCALE/` in Common Voice's layout, its two speakers taking turns."""
    root = fresh(HERE / corpus.folder) / corpus.locale
    clips = fresh(root / "clips")
    rows = ["\t".join(COLUMNS)]
    for number, sentence in enumerate(sentences(corpus.language), start=1):
        voice = corpus.voices[(number - 1) % 2]
        clip = f"common_voice_{corpus.locale}_{number}.mp3"
        write_mp3(clips / clip, signal=said_by_espeak(sentence, voice=voice, rate=COMMON_VOICE_HZ))
        rows.append(row(sentence=sentence, clip=clip, voice=voice, locale=corpus.locale))
    write_lines(root / "validated.tsv", lines=rows)


def training_text() -> list[str]:
    """Every sentence as written, the English ones also as spoken."""
    english = sentences("eng_Latn")
    others = [line for corpus in COMMON_VOICE for line in sentences(corpus.language)]
    return english + [normalised(line) for line in english] + others


def trained(text: list[str]) -> dict[str, Any]:
    """The JSON of a BPE tokenizer of at most `PIECES` entries, special tokens at 0 to 3."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    spaces = normalizers.Replace(Regex(r"\s+"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), spaces])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES,
        min_frequency=2,
        special_tokens=list(SPECIAL),
        initial_alphabet=sorted(set(ALPHABET)),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text, trainer)
    return json.loads(tokenizer.to_str())


def added(content: str, *, index: int) -> dict[str, Any]:
    """One entry of `added_tokens`; as in NLLB only `<mask>` takes the space before it."""
    flags = {"single_word": False, "lstrip": content == "<mask>", "rstrip": False, "normalized": False}
    return {"id": index, "content": content, **flags, "special": True}


def laid_out_like_nllb(spec: dict[str, Any]) -> dict[str, Any]:
    """`spec` with NLLB's language codes and `<mask>` at NLLB's ids and its template `[lang] $A </s>`."""
    extra = {code: FIRST_ID + index for index, code in enumerate((*CODES, "<mask>"))}
    vocabulary = spec["model"]["vocab"] | extra
    spec["model"]["vocab"] = dict(sorted(vocabulary.items(), key=lambda entry: entry[1]))
    tokens = {token: index for index, token in enumerate(SPECIAL)} | extra
    spec["added_tokens"] = [added(token, index=index) for token, index in tokens.items()]
    template = processors.TemplateProcessing(
        single="eng_Latn $A </s>",
        pair="eng_Latn $A $B </s>",
        special_tokens=[("eng_Latn", extra["eng_Latn"]), ("</s>", SPECIAL.index("</s>"))],
    )
    return spec | {"post_processor": json.loads(template.__getstate__())}


def laid_out(value: Any, *, width: int = 160) -> str:
    """JSON in which what fits in `width` characters is one line and anything larger has a line an entry."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) <= width or not isinstance(value, dict | list):
        return flat
    if isinstance(value, list):
        return "[\n" + ",\n".join(laid_out(item) for item in value) + "\n]"
    entries = (f"{json.dumps(key, ensure_ascii=False)}: {laid_out(item)}" for key, item in value.items())
    return "{\n" + ",\n".join(entries) + "\n}"


def make_tokenizer() -> None:
    """`tokenizer.json`: trained on the sentences here, laid out like NLLB-200's."""
    spec = laid_out_like_nllb(trained(training_text()))
    write_lines(HERE / "tokenizer.json", lines=[laid_out(spec)])


def main() -> int:
    """Make everything; exit code 2 if a synthesizer is missing."""
    missing = [program for program in ("flite", "espeak-ng") if shutil.which(program) is None]
    if missing:
        names = " and ".join(missing)
        print(f"make_corpora: {names} not found; Debian's packages have the same names", file=sys.stderr)
        return 2
    make_ljspeech()
    for corpus in COMMON_VOICE:
        make_common_voice(corpus)
    make_tokenizer()
    return 0


if __name__ == "__main__":
    sys.exit(main())
