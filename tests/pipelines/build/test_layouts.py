"""A miniature of each reader's layout, with real recordings: built, and each clip traced back to its samples."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
import yaml

from pipelines.trace.command import is_ok, trace
from preprocess.corpora import READERS
from shared.dataset import Dataset
from tests.pipelines import builds
from tests.preprocess.test_documented_tables import documented_sources
from tests.preprocess.test_librivox import CML_HEADER
from tests.preprocess.test_manifests import cut, lines
from tests.preprocess.test_webdataset import tar

pytestmark = pytest.mark.slow

WAVS = [path.read_bytes() for path in sorted((builds.ENGLISH / "wavs").iterdir())[:2]]
ONE, TWO = "The kettle is singing again.", "Who left the lamp on all night?"
RATE_HZ = 22_050
COMMON_VOICE_21 = (  # the header of release 21
    "client_id\tpath\tsentence_id\tsentence\tsentence_domain\tup_votes\tdown_votes\tage\tgender\taccents\tvariant\t"
    "locale\tsegment"
)
SAID = {"text": ONE, "speaker": "anna", "language": "en"}


def encoded(*wavs: bytes, kind: str) -> bytes:
    """The recordings one after the other, as a file of another format."""
    file = io.BytesIO()
    sound = np.concatenate([soundfile.read(io.BytesIO(wav), dtype="int16")[0] for wav in wavs])
    soundfile.write(file, sound, RATE_HZ, format=kind)
    return file.getvalue()


FLAC, MP3, LONG = encoded(WAVS[0], kind="FLAC"), encoded(WAVS[0], kind="MP3"), encoded(*WAVS, kind="FLAC")


class Clip(NamedTuple):
    """What is expected of an utterance: the file of its recording, and where in it the clip begins and ends."""

    file: bytes
    start_s: float = 0.0
    end_s: float | None = None

    def samples(self) -> np.ndarray:
        sound, _ = soundfile.read(io.BytesIO(self.file), dtype="float32")
        return sound[round(self.start_s * RATE_HZ) : None if self.end_s is None else round(self.end_s * RATE_HZ)]


class Layout(NamedTuple):
    """The files of a corpus, the options of its reader, and the clips by their ids within the source."""

    reader: str
    files: dict[str, str | bytes]
    clips: dict[str, Clip]
    options: dict[str, Any] = {}  # noqa: RUF012


def parquet(rows: list[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


def one(reader: str, audio: str, text: str, row: str, clip: str, *, sound: bytes = WAVS[0], **options: Any) -> Layout:
    """A corpus with a recording and a file of texts."""
    return Layout(reader, {audio: sound, text: row}, {clip: Clip(sound)}, options)


def documented(name: str, audio: str, row: str) -> Layout:
    """A corpus that docs/corpora.md reads with `table`."""
    options = {key: value for key, value in documented_sources()[name].items() if key not in ("root", "language")}
    shown = Path(audio).relative_to(options.get("audio_root", ".")).with_suffix("").as_posix()
    return one(options.pop("reader"), audio, options["file"], row, shown, **options)


LAYOUTS = {
    "aishell3": one(
        "aishell3",
        "train/wav/SSB0005/SSB00050001.wav",
        "train/content.txt",
        "SSB00050001.wav\tt ta1 w wa2 o ou3\n",
        "SSB00050001",
    ),
    "cml_tts": one(
        "cml_tts",
        "train/audio/4/7/a.wav",
        "train.csv",
        f"{CML_HEADER}train/audio/4/7/a.wav|1|{ONE}|x|1|1|5|4\n",
        "train/audio/4/7/a",
    ),
    "common_voice": one(
        "common_voice",
        "clips/cv_1.mp3",
        "validated.tsv",
        f"{COMMON_VOICE_21}\nabc\tcv_1.mp3\t7\t{ONE}\t\t2\t0\t\t\t\t\ten\t\n",
        "cv_1",
        sound=MP3,
    ),
    "css10": one("css10", "meian/a_0000.wav", "transcript.txt", f"meian/a_0000.wav|raw|{ONE}|1.5\n", "meian/a_0000"),
    "emilia": one("emilia", "EN-B0/EN_1.mp3", "EN-B0/EN_1.json", json.dumps(SAID), "EN-B0/EN_1", sound=MP3),
    "folder": one("folder", "anna/1.WAV", "anna/1.txt", ONE, "anna/1"),
    "hui": one("hui", "Anna_K/traum/wavs/t_01.wav", "Anna_K/traum/metadata.csv", f"t_01|{ONE}\n", "Anna_K/traum/t_01"),
    "jsut": one("jsut", "basic5000/wav/BASIC_1.wav", "basic5000/transcript_utf8.txt", f"BASIC_1:{ONE}\n", "BASIC_1"),
    "kaldi": Layout(
        "kaldi",
        {
            "wav.scp": "r wav/long.flac\n",
            "segments": "a r 0 1.5\nb r 1.58 -1\n",
            "text": f"a {ONE}\nb {TWO}\n",
            "utt2spk": "a anna\nb anna\n",
            "wav/long.flac": LONG,
        },
        {"a": Clip(LONG, 0, 1.5), "b": Clip(LONG, 1.58)},
    ),
    "lhotse": Layout(
        "lhotse",
        {
            "cuts.jsonl.gz": gzip.compress(
                lines(cut(recording__sources__0__source="wav/long.flac", recording__sampling_rate=RATE_HZ)).encode()
            ),
            "wav/long.flac": LONG,
        },
        {"c-0": Clip(LONG)},
    ),
    "librispeech": one(
        "librispeech",
        "dev-clean/61/2/61-2-0003.flac",
        "dev-clean/61/2/61-2.trans.txt",
        f"61-2-0003 {ONE.upper()}\n",
        "61-2-0003",
        sound=FLAC,
    ),
    "libritts": one(
        "libritts", "dev-clean/103/1/103_1_0_1.wav", "dev-clean/103/1/103_1_0_1.normalized.txt", ONE, "103_1_0_1"
    ),
    "ljspeech": one("ljspeech", "wavs/LJ001-0001.wav", "metadata.csv", f"LJ001-0001|raw|{ONE}\n", "LJ001-0001"),
    "m_ailabs": one(
        "m_ailabs",
        "en_US/by_book/female/anna/b/wavs/m_01.wav",
        "en_US/by_book/female/anna/b/metadata.csv",
        f"m_01|raw|{ONE}\n",
        "anna/b/m_01",
    ),
    "mls": one("mls", "train/audio/1/2/1_2_3.flac", "train/transcripts.txt", f"1_2_3\t{ONE}\n", "1_2_3", sound=FLAC),
    "nemo": Layout(
        "nemo",
        {
            "manifest.json": lines(
                {"audio_filepath": "wav/a.wav", "text": ONE, "duration": 1.58},
                {"audio_filepath": "wav/long.flac", "text": TWO, "offset": 1.58, "duration": 1.0},
            ),
            "wav/a.wav": WAVS[0],
            "wav/long.flac": LONG,
        },
        {"wav/a": Clip(WAVS[0]), "wav/long-0001580-0002580": Clip(LONG, 1.58, 2.58)},
    ),
    "parquet": Layout(
        "parquet",
        {
            "data/train-0.parquet": parquet(
                [{"audio": {"bytes": sound, "path": f"{number}.wav"}, "text": ONE} for number, sound in enumerate(WAVS)]
            )
        },
        {"0": Clip(WAVS[0]), "1": Clip(WAVS[1])},
        {"columns": {"text": "text"}},
    ),
    "table": Layout(
        "table",
        {"t.csv": f"file,said,from,to\nlong.flac,{ONE},0.02,1.5\nlong.flac,{TWO},1.58,2.9\n", "long.flac": LONG},
        {"long-0000020-0001500": Clip(LONG, 0.02, 1.5), "long-0001580-0002900": Clip(LONG, 1.58, 2.9)},
        {"file": "t.csv", "columns": {"audio": "file", "text": "said", "start": "from", "end": "to"}},
    ),
    "transcripts": Layout(
        "transcripts",
        {
            "talk.flac": LONG,
            "talk.srt": f"1\n00:00:00,000 --> 00:00:01,500\n{ONE}\n\n2\n00:00:01,580 --> 00:00:02,900\n{TWO}\n",
        },
        {"talk-0000000-0001500": Clip(LONG, 0, 1.5), "talk-0001580-0002900": Clip(LONG, 1.58, 2.9)},
    ),
    "vctk": one(
        "vctk", "wav48_silence_trimmed/p225/p225_001_mic1.flac", "txt/p225/p225_001.txt", ONE, "p225_001", sound=FLAC
    ),
    "vivos": one(
        "vivos",
        "train/waves/VIVOSSPK01/VIVOSSPK01_R001.wav",
        "train/prompts.txt",
        f"VIVOSSPK01_R001 {ONE}\n",
        "VIVOSSPK01_R001",
    ),
    "webdataset": Layout(
        "webdataset",
        {"EN/b-000.tar": tar([("EN_1.json", SAID), ("EN_1.mp3", MP3), ("EN_2.flac", FLAC), ("EN_2.json", SAID)])},
        {"EN_1": Clip(MP3), "EN_2": Clip(FLAC)},
    ),
    "kss": documented("kss", "1/1_0000.wav", f"1/1_0000.wav|raw|{ONE}|raw|1.5|raw\n"),
    "ruslan": documented("ruslan", "RUSLAN/000000_RUSLAN.wav", f"000000_RUSLAN|{ONE}\n"),
    "thorsten": documented("thorsten", "wavs/0a1b.wav", f"0a1b|{ONE}\n"),
    "made_for_piper": documented("made_for_piper", "wav/1234.wav", f"1234|anna|{ONE}\n"),
    "made_for_coqui": documented(
        "made_for_coqui", "wavs/a.wav", f"audio_file|text|speaker_name\nwavs/a.wav|{ONE}|ben\n"
    ),
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """One dataset of all the miniatures; its records hold the samples."""
    folder, sources = tmp_path_factory.mktemp("layouts"), {}
    for name, layout in LAYOUTS.items():
        root = folder / name
        for path, content in layout.files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content.encode() if isinstance(content, str) else content)
        sources[name] = {"reader": layout.reader, "root": str(root), "language": "eng_Latn", **layout.options}
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump({"sources": sources, "tokenizer": builds.TOKENIZER, "features": "hifigan-22k"}))
    overrides = ["checks.min_duplicate_bits=null", "validation_fraction=0", "max_rejected_fraction=0"]
    builds.build(folder / "data", config=str(config), overrides=[*overrides, "waveform_dtype=int16"])
    return Dataset.open(folder / "data")


def test_each_reader_and_each_documented_table_has_a_miniature() -> None:
    assert LAYOUTS.keys() == READERS.keys() | documented_sources().keys()


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_clips_of_a_layout_are_its_recordings_sample_for_sample(name: str, dataset: Dataset) -> None:
    ids = dataset.manifest("train").column("utterance_id").to_pylist()
    assert {one for one in ids if one.startswith(f"{name}/")} == {f"{name}/{clip}" for clip in LAYOUTS[name].clips}
    for clip, expected in LAYOUTS[name].clips.items():
        record = dataset.record(f"{name}/{clip}")
        np.testing.assert_allclose(record.waveform / 32768, expected.samples(), atol=0.501 / 32768)
        (details,) = trace(dataset, record.utterance_id, reproduce=True)
        assert is_ok(details)
