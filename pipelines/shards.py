"""Writing one shard: the unit of work, of retry and of publication.

A shard is a pure function of the utterances that belong to it: their order comes from a hash of their ids,
and nothing that a worker knows besides them gets into the bytes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import apache_beam as beam

from pipelines.config import BuildConfig
from pipelines.ledger import Ledger, ShardReport
from pipelines.plan import Element
from pipelines.progress import Tally
from preprocess.record import Preparation, Prepared, rejection
from preprocess.tokens import Tokenizer
from preprocess.utterance import Reason, Rejection, Utterance
from shared.dataset import Layout, Stem
from shared.errors import UserError
from shared.features import preset
from shared.order import sort_key
from shared.records import encode
from shared.tfrecord import frame


class WriteShard(beam.DoFn):
    """(stem, elements) -> stem, once its files and its report are in the staging folder."""

    def __init__(self, config: BuildConfig, *, staging: Path):
        self._config, self._layout = config, Layout(staging)

    def setup(self) -> None:
        self._prepare = preparation(self._config)

    def process(self, element: tuple[str, Iterable[Element | None]]) -> Iterator[str]:
        stem, grouped = element
        elements = [one for one in grouped if one is not None]
        language = self._config.sources[Stem.parse(stem).source].language
        tally = Tally(self._layout.root / "progress", name=stem)
        try:
            write_shard(
                elements,
                stem=stem,
                language=language,
                layout=self._layout,
                prepare=self._prepare,
                tally=tally,
            )
        except OSError as error:
            raise UserError(disk_message(error, staging=self._layout.root)) from error
        yield stem


def preparation(config: BuildConfig) -> Preparation:
    """What the config says of one utterance."""
    return Preparation(
        features=preset(config.features),
        mel_dtype=config.mel_dtype,
        tokenizer=Tokenizer(config.tokenizer),
        checks=config.checks,
    )


def write_shard(
    elements: list[Element], *, stem: str, language: str, layout: Layout, prepare: Preparation, tally: Tally
) -> ShardReport:
    """Write the three files of a shard and its report, holding one utterance in memory at a time."""
    ledger = Ledger(stem, n_mels=prepare.features.n_mels)
    with _new_file(layout.shard(stem)) as file:
        for outcome in _outcomes(elements, prepare=prepare):
            if isinstance(outcome, Rejection):
                ledger.reject(outcome, language=language)
            else:
                utterance, prepared = outcome
                offset, framed = file.tell(), frame(encode(prepared.record))
                file.write(framed)
                ledger.add(prepared, utterance=utterance, offset_bytes=offset, length_bytes=len(framed))
            tally.add()
    tally.flush()
    return ledger.publish(layout)


def _outcomes(elements: list[Element], *, prepare: Preparation) -> Iterator[tuple[Utterance, Prepared] | Rejection]:
    """Each element's record or rejection, in the order of the shard; only the first of an id is prepared."""
    seen: set[str] = set()
    # repr: of several with one id and one recording the same is first, in whatever order they arrive
    for element in sorted(elements, key=lambda one: (sort_key(one.id), one.audio_path, repr(one))):
        if isinstance(element, Rejection):
            yield element
        elif element.id in seen:
            yield rejection(
                element, stage="shard", reason=Reason.DUPLICATE_ID, message="an earlier utterance has this id"
            )
        else:
            seen.add(element.id)
            prepared = prepare(element)
            yield prepared if isinstance(prepared, Rejection) else (element, prepared)


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that has its name only once it is whole and on the disk; runners may try a shard twice at a time."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def disk_message(error: OSError, *, staging: Path) -> str:
    """What a failing disk means for the user."""
    where = error.filename or staging
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{staging.parent}: the disk is full; nothing was published; make room and run the build again"
    return f"{where}: {error.strerror}; nothing was published; mend it and run the build again"
