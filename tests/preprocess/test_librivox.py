"""Corpora of audiobooks: MLS, LibriSpeech, LibriTTS, CML-TTS, M-AILABS, CSS10."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from preprocess.utterance import Reason, Rejection, Utterance
from shared.errors import UserError

CML_HEADER = "wav_filename|wav_filesize|transcript|transcript_wav2vec|levenshtein|duration|num_words|client_id\n"


def test_mls_itself_is_read_with_the_language_of_its_folder(reference: Path, utterances: Any) -> None:
    root = reference / "corpora/mls/mls_spanish_opus"
    found = utterances(root, reader="mls")
    rows = dict(row.split("\t") for row in (root / "train/transcripts.txt").read_text("utf-8").split("\n")[:-1])
    files = {file.stem: str(file) for file in root.rglob("*.opus")}
    assert {one.id.removeprefix("x/"): one.text for one in found} == rows
    assert {one.id.removeprefix("x/"): one.audio_path for one in found} == files
    assert {(one.language, one.speaker) for one in found} == {("spa_Latn", "x/13697")}


def test_mls_reads_the_splits_that_exist_and_refuses_an_absent_one_that_is_configured(
    write: Any, utterances: Any
) -> None:
    root = write({f"mls_polish/{split}/transcripts.txt": f"1_2_{split}\ttekst\n" for split in ("train", "test")})
    found = utterances(root / "mls_polish", reader="mls")
    assert {one.id: one.language for one in found} == {"x/1_2_train": "pol_Latn", "x/1_2_test": "pol_Latn"}
    assert found[0].audio_path == str(root / "mls_polish/train/audio/1/2/1_2_train.flac")
    (one,) = utterances(root / "mls_polish", reader="mls", splits=["test"], suffix=".wav")
    assert one.audio_path == str(root / "mls_polish/test/audio/1/2/1_2_test.wav")
    with pytest.raises(UserError, match=r"looked for .*/mls_polish/dev/transcripts\.txt, which is not there"):
        utterances(root / "mls_polish", reader="mls", splits=["test", "dev"])


def test_librispeech_itself_is_read_in_lower_case_from_root_or_from_a_subset(reference: Path, utterances: Any) -> None:
    root = reference / "corpora/librispeech/LibriSpeech"
    whole, subset = (utterances(path, reader="librispeech") for path in (root, root / "test-clean"))
    assert whole == subset == utterances(root, reader="librispeech", splits=["test-clean"])
    lines = [line for file in root.rglob("*.trans.txt") for line in file.read_text("utf-8").split("\n")[:-1]]
    assert [f"{one.id.removeprefix('x/')} {one.text.upper()}" for one in whole] == sorted(lines)
    assert all(one.text == one.text.lower() for one in whole)
    assert {one.audio_path for one in whole} == set(map(str, root.rglob("*.flac")))
    assert {(one.language, one.speaker) for one in whole} == {("eng_Latn", "x/61")}


def test_libritts_reads_the_normalized_text_and_rejects_files_without_a_counterpart(write: Any, read: Any) -> None:
    chapter = "LibriTTS_R/train-clean-100/103/1240"
    root = write(
        {
            f"{chapter}/103_1240_000000_000001.wav": "",
            f"{chapter}/103_1240_000000_000001.normalized.txt": "Doctor Ford.",
            f"{chapter}/103_1240_000000_000001.original.txt": "Dr. Ford.",
            f"{chapter}/103_1240_000000_000002.wav": "",
            f"{chapter}/103_1240_000000_000003.normalized.txt": "Nobody said this.",
            f"{chapter}/103_1240.trans.tsv": "id\tDr. Ford.\tDoctor Ford.",
        }
    )
    good, no_text, no_audio = read(root / "LibriTTS_R", reader="libritts")
    assert good == Utterance(
        id="x/103_1240_000000_000001",
        audio_path=f"{root}/{chapter}/103_1240_000000_000001.wav",
        text="Doctor Ford.",
        language="eng_Latn",
        speaker="x/103",
    )
    assert (no_text.reason, no_audio.reason) == (Reason.EMPTY_TEXT, Reason.MISSING_AUDIO)
    assert no_text.audio_path.endswith("_000002.wav")
    (first, *_) = read(root / "LibriTTS_R", reader="libritts", splits=["train-clean-100"], text="original")
    assert first.text == "Dr. Ford."
    with pytest.raises(UserError, match=r"looked for .*/dev-clean/\*\*/\*\.normalized\.txt"):
        read(root / "LibriTTS_R", reader="libritts", splits=["dev-clean"])


def test_cml_tts_reads_its_lists_by_their_header(write: Any, utterances: Any) -> None:
    root = write(
        {
            "cml_tts_dataset_italian_v0.1/train.csv": CML_HEADER
            + "train/audio/4705/7167/4705_7167_000001.wav|1|Ciao, mondo.|ciao mondo|0.9|2.5|2|4705\n"
            + 'train/audio/4705/7167/4705_7167_000002.wav|1|"Disse: ""ciao""."|x|0.9|2.5|2|4705\n'
            + 'train/audio/4705/7167/4705_7167_000003.wav|1|"Ciao" e poi basta.|x|0.9|2.5|2|4705\n',
            "cml_tts_dataset_italian_v0.1/dev.csv": CML_HEADER + "dev/audio/1/2/a.wav|1|Sì.|si|1|1|1|1\n",
        }
    )
    found = utterances(root / "cml_tts_dataset_italian_v0.1", reader="cml_tts")
    assert [one.text for one in found] == ["Ciao, mondo.", 'Disse: "ciao".', '"Ciao" e poi basta.', "Sì."]
    assert found[0] == Utterance(
        id="x/train/audio/4705/7167/4705_7167_000001",
        audio_path=f"{root}/cml_tts_dataset_italian_v0.1/train/audio/4705/7167/4705_7167_000001.wav",
        text="Ciao, mondo.",
        language="ita_Latn",
        speaker="x/4705",
    )
    assert len(utterances(root / "cml_tts_dataset_italian_v0.1", reader="cml_tts", splits=["dev"])) == 1


def test_cml_tts_with_another_header_is_refused_with_its_columns(write: Any, read: Any) -> None:
    with pytest.raises(
        UserError, match=r"train\.csv: no column client_id in its header; it has wav_filename, transcript"
    ):
        read(write({"train.csv": "wav_filename|transcript\n"}), reader="cml_tts", language="ita_Latn")


def test_m_ailabs_reads_each_book_once_and_neither_appledouble_nor_mixed_ones(write: Any, read: Any) -> None:
    angela, anna = "de_DE/by_book/female/angela/merkel", "pl_PL/by_book/female/anna/merkel"
    root = write(
        {
            f"{angela}/metadata.csv": "m_01|5 Leute|fünf Leute\n",
            f"{angela}/._metadata.csv": b"\0\5\x16\7Mac OS X",
            f"{anna}/metadata.csv": "m_01|raz\n",
            "de_DE/by_book/mix/gedichte/metadata.csv": "g_01|a|a\n",
            "._de_DE": b"\0\5\x16\7",
        }
    )
    german, polish, mixed = read(root, reader="m_ailabs")
    assert german == Utterance(
        id="x/angela/merkel/m_01",
        audio_path=f"{root}/{angela}/wavs/m_01.wav",
        text="fünf Leute",
        language="deu_Latn",
        speaker="x/angela",
    )
    assert (polish.id, polish.text, polish.language) == ("x/anna/merkel/m_01", "raz", "pol_Latn")
    assert (mixed.reason, mixed.language) == (Reason.NOT_SELECTED, "deu_Latn")
    assert mixed.id == "x/de_DE/by_book/mix/gedichte/metadata.csv"
    assert [type(one) for one in read(root / "de_DE", reader="m_ailabs")] == [Utterance, Rejection]
    with pytest.raises(UserError, match="'tlh' is not a language's name"):
        read(write({"tlh_KL/by_book/male/k/b/metadata.csv": "a|b\n"}), reader="m_ailabs")


@pytest.mark.parametrize("root", ["", "Anna_K"])
def test_hui_reads_the_books_of_all_speakers_or_of_one(root: str, write: Any, utterances: Any) -> None:
    rows = 'traum_01_f000001|Fünf Leute.\ntraum_01_f000002|"""Ja"", sagte sie | leise."\n'
    folder = write({"Anna_K/traum/metadata.csv": rows, "Anna_K/traum/._metadata.csv": b"\0\5\x16\7Mac OS X"})
    first, second = utterances(folder / root, reader="hui")
    assert first == Utterance(
        id="x/Anna_K/traum/traum_01_f000001",
        audio_path=f"{folder}/Anna_K/traum/wavs/traum_01_f000001.wav",
        text="Fünf Leute.",
        language="deu_Latn",
        speaker="x/Anna_K",
    )
    assert second.text == '"Ja", sagte sie | leise.'


def test_css10_reads_the_normalised_text_or_the_original_if_that_is_romanised(write: Any, utterances: Any) -> None:
    root = write(
        {
            "german/transcript.txt": "meisterfloh/f_0001.wav|5 Flöhe|fünf Flöhe|1.5\n",
            "japanese/transcript.txt": "meian/meian_0000.wav|この前|kono mae|2.5\n",
        }
    )
    (german,) = utterances(root / "german", reader="css10")
    (japanese,) = utterances(root / "japanese", reader="css10", speaker="ekzemplaro")
    assert (german.id, german.text, german.language) == ("x/meisterfloh/f_0001", "fünf Flöhe", "deu_Latn")
    assert german.audio_path == f"{root}/german/meisterfloh/f_0001.wav"
    assert (japanese.text, japanese.language, japanese.speaker) == ("この前", "jpn_Jpan", "x/ekzemplaro")
    (original,) = utterances(root / "german", reader="css10", text="original")
    assert original.text == "5 Flöhe"
