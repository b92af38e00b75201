"""Mozilla Common Voice, one locale.

root/validated.tsv           client_id  path  sentence  …   tabs, UTF-8, a header line
root/clips/<path>            mp3
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from preprocess.corpora.source import SourceConfig, audio_path, bad_row, open_metadata
from preprocess.utterance import Reason, Rejected, Rejection, Utterance
from shared.errors import UserError

WANTED = ("client_id", "path", "sentence")


def read_common_voice(source: SourceConfig, *, name: str) -> Iterator[Utterance | Rejection]:
    """Every row of validated.tsv; a speaker is the start of a client_id."""
    path = open_metadata(source.root / "validated.tsv", name=name, reader="common_voice")
    with path.open("rb") as file:
        header = file.readline().decode("utf-8-sig", errors="replace").rstrip("\r\n").split("\t")
        if missing := [column for column in WANTED if column not in header]:
            raise UserError(f"{path}: no column {', '.join(missing)} in its header; wanted Common Voice's TSV")
        for number, line in enumerate(file, start=2):
            if not line.strip():
                continue
            try:
                yield _utterance(_row(line, header=header), source=source, name=name)
            except Rejected as error:
                yield bad_row(path, name=name, line=number, error=error)


def _row(line: bytes, *, header: list[str]) -> dict[str, str]:
    try:
        fields = line.decode("utf-8").rstrip("\r\n").split("\t")
    except UnicodeDecodeError as error:
        raise Rejected(Reason.BAD_METADATA_ROW, f"not UTF-8: {error.reason}") from error
    row = dict(zip(header, fields, strict=False))
    if absent := [column for column in WANTED if not row.get(column, "").strip()]:
        raise Rejected(Reason.BAD_METADATA_ROW, f"{len(fields)} of {len(header)} fields, no {', '.join(absent)}")
    return row


def _utterance(row: dict[str, str], *, source: SourceConfig, name: str) -> Utterance:
    return Utterance(
        id=f"{name}/{Path(row['path']).stem}",
        audio_path=audio_path(source.root, "clips", row["path"]),
        text=row["sentence"],
        language=source.language,
        speaker=f"{name}/{source.speaker or row['client_id'][:16]}",
    )
