"""Corpus readers: each knows the layout of one corpus and yields its utterances one by one.

A reader is a subclass of `SourceConfig` with its own options; its module's docstring shows the layout that it
expects. Readers read metadata only, never audio, and stream it: a corpus of any size can be listed.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated

import pydantic

from preprocess.corpora.aishell3 import AISHELL3
from preprocess.corpora.cml_tts import CMLTTS
from preprocess.corpora.common_voice import CommonVoice
from preprocess.corpora.css10 import CSS10
from preprocess.corpora.custom_columns import CustomColumnsConfig, check_custom_columns
from preprocess.corpora.emilia import Emilia
from preprocess.corpora.folder import Folder
from preprocess.corpora.hui import HUI
from preprocess.corpora.jsut import JSUT
from preprocess.corpora.kaldi import Kaldi
from preprocess.corpora.lhotse import Lhotse
from preprocess.corpora.librispeech import LibriSpeech
from preprocess.corpora.libritts import LibriTTS
from preprocess.corpora.ljspeech import LJSpeech
from preprocess.corpora.m_ailabs import MAILabs
from preprocess.corpora.mls import MLS
from preprocess.corpora.nemo import NeMo
from preprocess.corpora.official_splits import with_official_splits
from preprocess.corpora.parquet import Parquet
from preprocess.corpora.selection import NO_SOURCES, select
from preprocess.corpora.source import SourceConfig
from preprocess.corpora.table import Table
from preprocess.corpora.transcripts import Transcripts
from preprocess.corpora.vctk import VCTK
from preprocess.corpora.vivos import VIVOS
from preprocess.corpora.webdataset import WebDataset
from preprocess.utterance import Rejection, Utterance
from shared.errors import UserError, cwd_hint

Source = Annotated[
    AISHELL3
    | CMLTTS
    | CommonVoice
    | CSS10
    | Emilia
    | Folder
    | HUI
    | JSUT
    | Kaldi
    | Lhotse
    | LibriSpeech
    | LibriTTS
    | LJSpeech
    | MAILabs
    | MLS
    | NeMo
    | Parquet
    | Table
    | Transcripts
    | VCTK
    | VIVOS
    | WebDataset,
    pydantic.Field(discriminator="reader"),
]

READERS: dict[str, type[SourceConfig]] = {
    typing.get_args(kind.model_fields["reader"].annotation)[0]: kind
    for kind in typing.get_args(typing.get_args(Source)[0])
}


def layout_of(reader: str) -> str:
    """The corpus layout that a reader expects, from its module's docstring."""
    return sys.modules[READERS[reader].__module__].__doc__ or ""


def read_corpus(
    source: SourceConfig, *, name: str, sources: Mapping[str, SourceConfig] = NO_SOURCES
) -> Iterator[Utterance | Rejection]:
    """Read a configured source: its utterances, and rejections of its invalid rows.

    Args:
        sources: all sources of the config: one list of ids may serve several.

    Raises:
        UserError: the corpus is not found at its root, a list of ids or a table of scores cannot be read, or an
            utterance's path names no split where the config asks for the corpus' own ones, or no utterance has one of
            the custom columns.
    """
    if not source.root.is_dir():
        message = f"sources.{name}.root: no such directory {source.root}{cwd_hint(source.root)}"
        raise UserError(f"{message}; expected the folder of the corpus")
    elements = source.utterances(name=name)
    if isinstance(source, CustomColumnsConfig):
        elements = check_custom_columns(elements, source=source, name=name)
    selected = select(elements, source=source, name=name, sources=sources)
    return with_official_splits(selected, source=source, name=name) if source.official_splits else selected
