"""Readers: each knows the layout of one corpus and yields its utterances one by one.

A reader is a function (SourceConfig, name) -> iterator of Utterance or Rejection. It reads metadata only,
never audio, and streams, so that a corpus of any size can be listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from preprocess.corpora.common_voice import read_common_voice
from preprocess.corpora.ljspeech import read_ljspeech
from preprocess.corpora.source import SourceConfig
from preprocess.utterance import Rejection, Utterance
from shared.errors import UserError

Reader = Callable[..., Iterator[Utterance | Rejection]]

READERS: dict[str, Reader] = {"common_voice": read_common_voice, "ljspeech": read_ljspeech}


def read_corpus(source: SourceConfig, *, name: str) -> Iterator[Utterance | Rejection]:
    """The utterances of a configured source, and the rows that are none.

    Raises:
        UserError: the corpus is not where it should be.
    """
    if not source.root.is_dir():
        raise UserError(f"sources.{name}.root: no such directory {source.root}; wanted the folder of the corpus")
    yield from READERS[source.reader](source, name=name)
