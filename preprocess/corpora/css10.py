"""CSS10, one language.

root/                       german, greek, spanish, …
    transcript.txt          path|text|normalised text|seconds: UTF-8, no header, quotes are text
    <path>                  such as meian/meian_0000.wav

The normalised text is used; for Chinese and Japanese, whose normalised text is in Latin letters, the original.
`text` selects either.
Language: configured, else from root's name. Speaker: `css10` unless configured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from preprocess.corpora.language_names import language_from_name
from preprocess.corpora.metadata import parse_lines, split_fields
from preprocess.corpora.source import SourceConfig, audio_path, find_file, make_utterance, without_suffix
from preprocess.utterance import Rejection, Utterance

COLUMNS = ("path", "text", "normalised text", "seconds")
ROMANISED = ("jpn_Jpan", "zho_Hans", "zho_Hant")


class CSS10(SourceConfig):
    """Reads CSS10: every row of the transcript."""

    reader: Literal["css10"]
    text: Literal["original", "normalised"] | None = None  # column to read; null: by language

    def utterances(self, *, name: str) -> Iterator[Utterance | Rejection]:
        path = find_file([self.root / "transcript.txt"], name=name, reader=self.reader)
        language = self.required_language(name=name, inferred=language_from_name(self.root))
        column = self.text or ("original" if language in ROMANISED else "normalised")

        def parse(line: str) -> Utterance:
            file, original, normalised, _ = split_fields(line, "|", COLUMNS)
            return make_utterance(
                name,
                utterance_id=without_suffix(file),
                audio_path=audio_path(self.root, file),
                text=original if column == "original" else normalised,
                language=language,
                speaker=self.speaker or "css10",
            )

        return parse_lines(path, root=self.root, name=name, language=language, parse=parse)
