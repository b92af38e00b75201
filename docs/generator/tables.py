"""Tables of the site: corpora, checks, records, mels, commands, make targets from the code; the README's status."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import click

from docs.generator.settings import sections
from pipelines.download.archives import ARCHIVES
from preprocess.check_config import CheckConfig
from preprocess.checks import ALL_BOUNDS, Bound
from preprocess.corpora import READERS, layout_of
from preprocess.corpora.source import SourceConfig
from preprocess.utterance import Reason
from shared.features import PRESETS
from shared.records import ALL_FIELDS

ROOT = Path(__file__).parents[2]

# what each check measures
MEASURES = {
    Reason.TOO_SHORT: "Length of the recording after `processing`.",
    Reason.TOO_LONG: "Length of the recording after `processing`.",
    Reason.TOO_MANY_FRAMES: "Length of the mel. Use it instead of `max_duration_s` when memory is the limit.",
    Reason.TOO_MANY_TOKENS: "Tokens of the prepared text, language token and `</s>` included.",
    Reason.TOO_MANY_UNKNOWNS: "Share of `<unk>` among the text's pieces: the tokenizer does not know the script.",
    Reason.UNREAD_NUMBERS: "Numbers that stay digits because there is no safe reading of them in this language.",
    Reason.TOO_QUIET: "Root mean square of the decoded samples, relative to full scale.",
    Reason.TOO_LOUD: "Largest absolute sample. Above 1 only a float file or resampling can lie.",
    Reason.CLIPPED: "Share of samples within 0.1 % of the peak. A clean recording touches its peak once or twice.",
    Reason.DC_OFFSET: "Absolute mean of the samples.",
    Reason.SILENCE: "Share of frames 40 dB or more below the loud frames (their 95th percentile).",
    Reason.NOISY: "Estimated signal-to-noise ratio: mean power above the power of the quietest tenth of the frames.",
    Reason.NARROW_BAND: "Highest frequency that carries signal: 4,000 Hz for telephone speech at any file rate.",
    Reason.DUPLICATE_AUDIO: "Bits (of 128) in which the audio hash differs from the nearest earlier recording's.",
    Reason.REPEATED_TEXT: "Earlier utterances of the source that have the same prepared text.",
    Reason.TOO_SLOW: "Characters per second, far below the language's median (logarithm, robust deviations).",
    Reason.TOO_FAST: "Characters per second, far above the language's median: audio and text do not belong together.",
    Reason.LEAKED_TEXT: "The prepared text also occurs in a later split, in the order train, validation, test.",
}

# why an utterance has no record at all
FAILURES = {
    Reason.BAD_METADATA_ROW: "A row of the corpus' metadata cannot be parsed.",
    Reason.UNSAFE_PATH: "The audio path leads out of the corpus, or is a command.",
    Reason.UNKNOWN_LANGUAGE: "The row's language is none of the 202, or is ambiguous.",
    Reason.TEXT_TOO_LONG: "The text is longer than 10,000 characters.",
    Reason.NOT_SELECTED: "`max_utterances`, a list or a score leaves it out, or the reader does not read it.",
    Reason.DUPLICATE_ID: "An earlier row of the source has the same id.",
    Reason.MISSING_AUDIO: "No file at the audio path.",
    Reason.UNREADABLE_AUDIO: "The file is not audio, or its format is not supported.",
    Reason.TRUNCATED_AUDIO: "The file ends before its header says.",
    Reason.EMPTY_AUDIO: "No samples, or too few for one frame.",
    Reason.NON_FINITE_AUDIO: "A sample is NaN or infinite.",
    Reason.UNDECODED_LENGTH: "Longer than `decode_limit_s`, and so not decoded.",
    Reason.NOT_PLAIN_WAV: "`mel_dtype: none` reads 16-bit PCM wav at the rate of the mels only.",
    Reason.EMPTY_TEXT: "Nothing is left of the text after preparation, or there is no text.",
    Reason.OVER_CAP: "`max_hours` or `max_hours_per_speaker` was reached.",
}


def archives() -> str:
    """The corpora that can be downloaded."""
    lines = [
        f"| `{name}` | {one.hours:g} | {one.size_bytes / 1e9:.1f} GB | {one.licence} | `{one.reader}` |"
        for name, one in ARCHIVES.items()
    ]
    return "\n".join(["| name | hours | archive | licence | reader |", "|---|---|---|---|---|", *lines])


def corpora() -> str:
    """Each reader: the layout that it expects, from its module's docstring, and its own options."""
    return "\n\n".join(_reader(name) for name in sorted(READERS))


def _reader(name: str) -> str:
    title, _, rest = layout_of(name).strip().partition("\n\n")
    layout, _, notes = rest.strip("\n").partition("\n\n")
    tree = [line for line in layout.splitlines() if line.strip()]
    if notes.startswith(" "):  # the example of a config belongs to the layout
        example, _, notes = notes.partition("\n\n")
        tree += ["", *example.splitlines()]
    lines = [f"## `{name}`", "", title.replace("\n", " "), "", "```text", *tree, "```", "", notes.replace("<", "&lt;")]
    own = [one for section in sections(READERS[name], key="NAME", without=SourceConfig) for one in section.settings]
    lines += [""] if own else []
    lines += [f"- `{one.key.removeprefix('NAME.')}`, default {one.default}: {one.meaning}" for one in own]
    return "\n".join(lines)


def checks() -> str:
    """Each check: reason code, manifest column, threshold with its default, and what is measured."""
    defaults = CheckConfig()
    deviations = f"{defaults.characters_per_second_deviations:g} deviations"
    rate = ("characters_per_second", "characters_per_second_deviations", deviations)
    leak = ("text_leaks", "reject_text_leaks", "off" if not defaults.reject_text_leaks else "on")
    rows = [(bound.reason, bound.column, bound.threshold, _threshold(bound, defaults)) for bound in ALL_BOUNDS]
    rows += [(Reason.TOO_SLOW, *rate), (Reason.TOO_FAST, *rate), (Reason.LEAKED_TEXT, *leak)]
    head = "| reason | column of the manifest | key in `checks` | default | what is measured |\n|---|---|---|---|---|"
    lines = [f"| `{one[0]}` | `{one[1]}` | `{one[2]}` | {one[3]} | {MEASURES[one[0]]} |" for one in rows]
    return "\n".join([head, *lines])


def _threshold(bound: Bound, defaults: CheckConfig) -> str:
    value = getattr(defaults, bound.threshold)
    return "off" if value is None else f"{value:g}{bound.unit}"


def failures() -> str:
    """The reasons for which an utterance has no record, so that no threshold brings it back."""
    lines = [f"| `{reason}` | {meaning} |" for reason, meaning in FAILURES.items()]
    return "\n".join(["| reason | meaning |", "|---|---|", *lines])


def records() -> str:
    """The fields of a record."""
    lines = [
        f"| `{one.name}` | {one.kind} | `{one.shape}` | {one.unit} | {escape(one.meaning, quote=False)} |"
        for one in ALL_FIELDS
    ]
    return "\n".join(["| field | kind | shape | unit | meaning |", "|---|---|---|---|---|", *lines])


def features() -> str:
    """The mel presets."""
    lines = [
        f"| `{one.name}` | {one.sample_rate_hz:,} Hz | {one.n_fft} | {one.hop_samples} | {one.n_mels} "
        f"| {one.fmin_hz:g}–{one.fmax_hz:,g} Hz | {one.mel_scale}, {one.mel_norm or 'no'} norm "
        f"| {one.frames_per_second:.2f} | {one.log_silence:.4f} |"
        for one in PRESETS.values()
    ]
    head = "| `features` | rate | FFT and window | hop | bands | range | mel scale | frames/s | silence |"
    return "\n".join([head, "|---|---|---|---|---|---|---|---|---|", *lines])


def commands() -> str:
    """The help of every command of both programs."""
    from pipelines.cli import cli as data
    from trainer.cli import cli as train
    from trainer.speak_cli import cli as speak

    groups = {"myxtts-data": data, "myxtts-train": train, "myxtts-speak": speak}
    return "\n\n".join(part for path, group in groups.items() for part in _help(group, path=path))


def _help(command: click.Command, *, path: str) -> list[str]:
    context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100)
    level = "##" if " " not in path else "###"
    text = [f"{level} {path}\n\n```text\n{command.get_help(context)}\n```"]
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        text += _help(inner, path=f"{path} {name}")
    return text


def make_targets() -> str:
    """Every target of the Makefile that has a description."""
    rows = re.findall(r"^([a-z-]+):.*?## (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    lines = [f"| `make {name}` | {meaning.replace('|', chr(92) + '|')} |" for name, meaning in rows]
    return "\n".join(["| target | what it does |", "|---|---|", *lines])


def status() -> str:
    """The README's table of what is tested and what is not; its links are from the folder `docs`."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.search(r"^\| Part \| Status \|\n(?:\|.*\n)+", readme, re.MULTILINE)
    assert rows is not None
    return rows[0].replace("](docs/", "](").rstrip()
