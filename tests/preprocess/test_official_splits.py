"""The split that a corpus itself states: by folders, files, lists and columns."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from preprocess.corpora import READERS
from preprocess.utterance import Reason, Rejection
from shared.errors import UserError

HEADER = "client_id\tpath\tsentence\tlocale\n"


def splits(found: list[Any]) -> dict[str, str]:
    return {one.id.removeprefix("x/"): one.split for one in found}


@pytest.mark.parametrize(
    ("folder", "split"),
    [
        ("train-clean-100", "train"),
        ("dev-other", "validation"),
        ("Test-Clean", "test"),
        ("validation", "validation"),
        ("val", "validation"),
    ],
)
def test_a_folder_names_the_split(folder: str, split: str, write: Any, utterances: Any) -> None:
    root = write({f"LibriSpeech/{folder}/1/2/1-2.trans.txt": "1-2-0001 HELLO\n"})
    options = {"reader": "librispeech", "official_splits": True}
    assert splits(utterances(root / "LibriSpeech", **options)) == {"1-2-0001": split}
    assert splits(utterances(root / "LibriSpeech" / folder, **options)) == {"1-2-0001": split}  # root is the subset
    assert splits(utterances(root / "LibriSpeech", reader="librispeech")) == {"1-2-0001": ""}


def test_the_uppermost_folder_that_names_a_split_decides(write: Any, utterances: Any) -> None:
    texts = {f"mls_polish/{part}/transcripts.txt": f"test_2_{part}\ttekst\n" for part in ("train", "dev")}
    found = utterances(write(texts) / "mls_polish", reader="mls", official_splits=True)
    assert {Path(one.audio_path).parent.parent.name for one in found} == {"test"}  # the speaker's name
    assert splits(found) == {"test_2_train": "train", "test_2_dev": "validation"}


def test_the_root_may_be_the_current_folder(write: Any, utterances: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write({"dev/transcripts.txt": "1_2_3\ttekst\n"})
    monkeypatch.chdir(root)
    found = utterances(Path(), reader="mls", official_splits=True, language="pol_Latn")
    assert splits(found) == {"1_2_3": "validation"}


def test_a_file_with_recordings_names_the_split(write: Any, utterances: Any) -> None:
    table = pa.table({"audio": [b"x"], "text": ["hello"]})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    content = bytes(sink.getvalue())
    files = {f"corpus/data/{part}-00000-of-00001.parquet": content for part in ("train", "valid", "test")}
    root = write(files) / "corpus"
    options = {"reader": "parquet", "files": "data/*.parquet", "columns": {"text": "text"}, "language": "eng_Latn"}
    found = utterances(root, official_splits=True, **options)
    assert [one.split for one in found] == ["test", "train", "validation"]


def test_a_name_with_words_of_two_splits_names_neither(write: Any, utterances: Any) -> None:
    root = write({f"train_test_split/{part}/transcripts.txt": f"1_2_{part}\ttekst\n" for part in ("train", "test")})
    found = utterances(root / "train_test_split", reader="mls", official_splits=True, language="pol_Latn")
    assert splits(found) == {"1_2_train": "train", "1_2_test": "test"}


@pytest.mark.parametrize("where", ["below", "elsewhere"])
def test_folders_outside_the_root_name_nothing(where: str, write: Any, utterances: Any) -> None:
    """A Kaldi directory, which states the split by its name, may list recordings in other folders."""
    root = write({"dev/kaldi/train/text": "u hello\n", "dev/kaldi/train/utt2spk": "u s\n"}) / "dev/kaldi/train"
    folder = root if where == "below" else root.parents[2] / "test"
    (root / "wav.scp").write_text(f"u {folder}/u.wav\n")
    options = {"reader": "kaldi", "language": "eng_Latn", "audio_root": root.parents[2]}
    found = utterances(root, official_splits=True, **options)
    assert splits(found) == {"u": "train"}


def test_the_file_that_lists_the_recordings_names_the_split(write: Any, utterances: Any) -> None:
    row = '{"audio_filepath": "wavs/1.wav", "text": "hello", "duration": 1.0}\n'
    root = write({"train/test_manifest.json": row}) / "train"
    options = {"reader": "nemo", "file": "test_manifest.json", "language": "eng_Latn"}
    assert [one.split for one in utterances(root, official_splits=True, **options)] == ["test"]


def test_an_utterance_that_is_left_out_need_not_have_a_split(write: Any, read: Any) -> None:
    files = {f"corpus/{folder}/{folder}.{kind}": "hello" for folder in ("dev", "more") for kind in ("wav", "txt")}
    root = write(files | {"out.txt": "more/more\n"})
    options = {"reader": "folder", "language": "eng_Latn", "official_splits": True}
    found = read(root / "corpus", exclude=root / "out.txt", **options)
    assert splits([one for one in found if not isinstance(one, Rejection)]) == {"dev/dev": "validation"}


def test_words_within_words_name_no_split(write: Any, read: Any) -> None:
    root = write({f"corpus/latest/attest.{kind}": "hello" for kind in ("wav", "txt")}) / "corpus"
    with pytest.raises(
        UserError, match=r"sources\.x\.official_splits: nothing in .*latest/attest\.wav names a split; expected a"
    ):
        read(root, reader="folder", language="eng_Latn", official_splits=True)


def test_common_voice_is_read_from_the_lists_of_its_splits(write: Any, utterances: Any) -> None:
    rows = {part: f"{HEADER}{'c' * 20}\t{part}.mp3\thallo\tde\n" for part in ("train", "dev", "test", "validated")}
    root = write({f"{part}.tsv": text for part, text in rows.items()})
    found = utterances(root, reader="common_voice", official_splits=True)
    assert splits(found) == {"train": "train", "dev": "validation", "test": "test"}
    assert splits(utterances(root, reader="common_voice")) == {"validated": ""}


def test_a_list_of_common_voice_beside_its_splits_is_refused() -> None:
    with pytest.raises(ValueError, match=r"official_splits reads train\.tsv, dev\.tsv and test\.tsv; leave list out"):
        READERS["common_voice"].model_validate(
            {"reader": "common_voice", "root": "x", "official_splits": True, "list": "train.tsv"}
        )


def test_a_column_of_a_table_names_the_split(write: Any, read: Any) -> None:
    words = ["train-clean-100", "Dev", " test ", "validation", "", "holdout", "train/test"]
    content = io.StringIO()
    content.writelines(["audio,text,part\n", *(f"{number}.wav,hello,{word}\n" for number, word in enumerate(words))])
    columns = {"audio": "audio", "text": "text", "split": "part"}
    root = write({"t.csv": content.getvalue()})
    found = read(root, reader="table", file="t.csv", columns=columns, language="eng_Latn")
    kept = [one for one in found if not isinstance(one, Rejection)]
    assert splits(kept) == {"0": "train", "1": "validation", "2": "test", "3": "validation", "4": ""}
    rejected = [one for one in found if isinstance(one, Rejection)]
    assert [one.reason for one in rejected] == [Reason.BAD_METADATA_ROW] * 2
    words_of_splits = "train, training, dev, val, valid, validation, test"
    assert f"its split is 'holdout', expected one of {words_of_splits}, or nothing" in rejected[0].message


def test_a_column_of_parquet_names_the_split(write: Any, utterances: Any) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"audio": [b"x", b"y"], "text": ["a", "b"], "part": ["test", "train"]}), sink)
    root = write({"t.parquet": bytes(sink.getvalue())})
    columns = {"text": "text", "split": "part"}
    found = utterances(root, reader="parquet", columns=columns, language="eng_Latn")
    assert [one.split for one in found] == ["test", "train"]
