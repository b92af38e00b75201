"""From an utterance to its record and back: against every frame of every shard, and the audio files themselves."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from pipelines.build.build_dataset import build_dataset
from pipelines.trace.command import trace
from pipelines.trace.spectrogram import BAND_PIXELS, MARGINS, draw_spectrogram, frame_pixels, range_of
from pipelines.trace.suggestions import suggest_ids
from pipelines.trace.utterance_details import audio_state
from pipelines.validation.validate import validate_dataset
from shared.dataset import Dataset
from shared.errors import UserError
from shared.features import preset
from shared.layout import Layout
from shared.locks import write_lock
from shared.records import decode
from shared.tfrecord import read_framed_records
from tests.pipelines import builds, damage


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve clips of their own, some filtered as too short, some rejected."""
    folder = tmp_path_factory.mktemp("traced")
    bad = ["missing|No such clip.|No such clip.", "C00000|An id twice.|An id twice."]
    corpus = builds.make_corpus(folder / "corpus", clips=12, bad_rows=bad)
    for link in (corpus / "wavs").iterdir():
        data = link.read_bytes()
        link.unlink()
        link.write_bytes(data)
    words = builds.overrides_for(
        corpus,
        *("utterances_per_shard=6", "validation_fraction=0.3", "max_rejected_fraction=1", "checks.min_duration_s=1.8"),
    )
    return builds.build(folder / "data", config=builds.LJSPEECH_CONFIG, overrides=words)


@pytest.fixture
def moved(traced: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of the dataset that a test may change, with its corpus; the corpus is restored afterwards."""
    corpus = traced.parent / "corpus"
    shutil.copytree(corpus, tmp_path / "corpus")
    yield builds.copied(traced, to=tmp_path / "data")
    shutil.rmtree(corpus)
    shutil.copytree(tmp_path / "corpus", corpus)


def frames_of(data: Path) -> Iterator[tuple[str, Any]]:
    """(file, frame) of every record."""
    for path in [*(data / "shards").iterdir(), *(data / "withheld").glob("*.tfrecord")]:
        with path.open("rb") as file:
            for frame in read_framed_records(file):
                yield f"{path.parent.name}/{path.name}", frame


def id_of(frame: Any) -> str:
    (name,) = decode(frame.payload)["utterance_id"]
    assert isinstance(name, bytes)
    return name.decode()


@pytest.mark.slow
def test_every_record_is_found_by_its_id_its_index_and_each_of_its_bytes(traced: Path) -> None:
    dataset = Dataset.open(traced)
    found = list(frames_of(traced))
    assert {file.partition("/")[0] for file, _ in found} == {"shards", "withheld"}
    for file, frame in found:
        last = frame.offset_bytes + len(frame.payload) + 15
        middle = (frame.offset_bytes + last) // 2
        places = [f":{frame.index}", f"@{frame.offset_bytes}", f"@{middle}", f"@{last}"]
        for what in (id_of(frame), *(f"{file}{place}" for place in places)):
            details = next(one for one in trace(dataset, what) if one.record)
            record = details.record
            assert details.utterance_id == id_of(frame)
            assert record is not None
            assert (record.file, record.index, record.offset_bytes) == (file, frame.index, frame.offset_bytes)
            assert record.length_bytes == last + 1 - frame.offset_bytes
            assert record.sha256 == hashlib.sha256(frame.payload).hexdigest()
            assert record.state == "valid"
            assert details.status == {"shards": "kept", "withheld": "filtered"}[file.partition("/")[0]]
            assert details.text == decode(frame.payload)["text"][0].decode()  # type: ignore[union-attr]
            assert [token for token, _ in details.tokens] == decode(frame.payload)["tokens"]


def test_tokens_are_shown_as_the_pieces_of_the_tokenizer(traced: Path) -> None:
    ids = json.loads(Path(builds.TOKENIZER).read_text("utf-8"))["model"]["vocab"]
    (details, *_) = trace(Dataset.open(traced), "ljspeech/C00003")
    names = [name for _, name in details.tokens]
    assert "".join(names[1:-1]).replace("▁", " ").strip() == details.text
    assert names[0] == "eng_Latn"
    assert names[-1] == "</s>"
    assert [ids[name] for name in names[1:-1]] == [token for token, _ in details.tokens[1:-1]]


def test_filtered_and_rejected_utterances_show_their_reason(traced: Path) -> None:
    dataset = Dataset.open(traced)
    tables = [pq.read_table(path) for path in (traced / "withheld").glob("*.parquet")]
    withheld = [name for table in tables for name in table["utterance_id"].to_pylist()]
    (short,) = trace(dataset, next(name for name in withheld if name != "ljspeech/C00000"))
    assert (short.status, short.reason, short.threshold) == ("filtered", "too_short", "checks.min_duration_s=1.8")
    (missing,) = trace(dataset, "ljspeech/missing")
    assert (missing.status, missing.reason, missing.record) == ("rejected", "missing_audio", None)
    assert missing.audio.state == "missing"
    twice = trace(dataset, "ljspeech/C00000")
    assert sorted(one.reason for one in twice) in (["", "duplicate_id"], ["duplicate_id", "too_short"])


def test_an_audio_file_leads_to_all_that_was_made_from_it(traced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, wavs = Dataset.open(traced), traced.parent / "corpus" / "wavs"
    assert [one.utterance_id for one in trace(dataset, str(wavs / "C00004.wav"))] == ["ljspeech/C00004"]
    assert [one.utterance_id for one in trace(dataset, str(wavs / "C00000.wav"))] == ["ljspeech/C00000"] * 2
    monkeypatch.chdir(wavs.parent)
    dataset = Dataset.open(traced.absolute())
    assert [one.utterance_id for one in trace(dataset, "wavs/../wavs/C00004.wav")] == ["ljspeech/C00004"]


def test_a_changed_or_missing_audio_file_is_reported(moved: Path, traced: Path) -> None:
    dataset, wav = Dataset.open(moved), traced.parent / "corpus" / "wavs" / "C00004.wav"
    then = hashlib.sha256(wav.read_bytes()).hexdigest()
    (details,) = trace(dataset, "ljspeech/C00004")
    assert (details.audio.state, details.audio.current_sha256) == ("unchanged", then)
    wav.write_bytes(wav.read_bytes()[:-2000])
    (details,) = trace(dataset, "ljspeech/C00004")
    now = hashlib.sha256(wav.read_bytes()).hexdigest()
    assert (details.audio.state, details.audio.recorded_sha256, details.audio.current_sha256) == ("changed", then, now)
    wav.unlink()
    (details,) = trace(dataset, "ljspeech/C00004")
    assert (details.audio.state, details.audio.current_sha256) == ("missing", None)


def test_every_record_comes_out_the_same_when_it_is_prepared_again(traced: Path) -> None:
    dataset = Dataset.open(traced)
    for _, frame in frames_of(traced):
        details = next(one for one in trace(dataset, id_of(frame), reproduce=True) if one.record)
        assert details.reproduction == "the same bytes"


def test_another_recording_makes_another_record(moved: Path, traced: Path, command: Callable) -> None:
    wavs = traced.parent / "corpus" / "wavs"
    (wavs / "C00004.wav").write_bytes((wavs / "C00007.wav").read_bytes())
    outcome = command("trace", "ljspeech/C00004", "--data", moved, "--reproduce")
    assert outcome.code == 1
    assert "other bytes now, in frames, mel" in outcome.out
    (wavs / "C00004.wav").unlink()
    outcome = command("trace", "ljspeech/C00004", "--data", moved, "--reproduce")
    assert outcome.code == 1
    assert "rejected now: missing_audio" in outcome.out


@pytest.mark.parametrize(("place", "message"), [(3, "length fails its checksum"), (100, "data fails its checksum")])
def test_a_damaged_record_says_so(place: int, message: str, moved: Path, command: Callable) -> None:
    file, frame = next(frames_of(moved))
    data = bytearray((moved / file).read_bytes())
    data[frame.offset_bytes + place] ^= 4
    (moved / file).write_bytes(data)
    outcome = command("trace", f"{file}:{frame.index}", "--data", moved)
    assert outcome.code == 1
    assert f"damaged (record {frame.index} at byte {frame.offset_bytes}: the {message})" in outcome.out


def test_the_picture_shows_every_value_of_the_mel_at_its_place(traced: Path, tmp_path: Path, command: Callable) -> None:
    _, frame = next(frames_of(traced))
    png = tmp_path / "mel.png"
    assert command("trace", id_of(frame), "--data", traced, "--mel", png).code == 0
    (data,) = decode(frame.payload)["mel"]
    mel = np.frombuffer(data, "<f2").reshape(-1, 80).astype(np.float64)  # type: ignore[call-overload]
    assert_shown(mel, Image.open(png))


@pytest.mark.slow
@pytest.mark.parametrize("frames", [1, 50, 2000])
def test_short_and_long_mels_are_drawn_whole(frames: int) -> None:
    mel = np.random.default_rng(frames).normal(-5, 2, (frames, 100)).astype(np.float16)
    image = Image.open(io.BytesIO(draw_spectrogram(mel, spec=preset("bigvgan-24k-100"), title="$ no formula _")))
    assert_shown(mel.astype(np.float64), image)
    left, _, _, top = MARGINS
    title = np.asarray(image.convert("L"))[:top, left : left + 40]
    assert (title < 128).any()  # above the mel


def assert_shown(mel: np.ndarray, image: Image.Image) -> None:
    """The middle of each block has the colour of its value, to a step of the scale."""
    pixels = np.asarray(image.convert("RGB")).astype(np.int64)[::-1]
    left, _, bottom, _ = MARGINS
    wide = frame_pixels(len(mel))
    columns = left + wide // 2 + wide * np.arange(len(mel))
    rows = bottom + BAND_PIXELS // 2 + BAND_PIXELS * np.arange(mel.shape[1])
    shown = pixels[np.ix_(rows, columns)].transpose(1, 0, 2)  # [F, M, 3]
    palette = (matplotlib.colormaps["magma"](np.arange(256), bytes=True)[:, :3]).astype(np.int64)
    levels = np.empty(mel.shape)
    for frame, colours in enumerate(shown):
        levels[frame] = np.abs(colours[:, None] - palette[None]).sum(axis=2).argmin(axis=1) / 255
    low, high = range_of(mel)
    expected = np.clip((mel - low) / (high - low), 0, 1)
    assert np.abs(levels - expected).max() <= 1.01 / 255


def test_a_near_miss_names_the_closest(traced: Path, command: Callable) -> None:
    for wrong in ("ljspeech/C0003", "C00003", "LJspeech/C00003", "ljspeech/C00003.wav"):
        outcome = command("trace", wrong, "--data", traced)
        assert outcome.code == 2
        assert "ljspeech/C0000" in outcome.err
        assert outcome.err.count("\n") == 1


@pytest.mark.slow
def test_similar_ids_are_found_among_a_million() -> None:
    ids = pa.chunked_array([[f"lj/LJ{number:07d}é" for number in range(1_000_000)]])
    assert "lj/LJ0123456é" in suggest_ids(ids, "lj/LJ0123456")
    assert "lj/LJ0123456é" in suggest_ids(ids, "LJ0123456é")
    assert suggest_ids(ids, "lj/LJ012345é")[0] == "lj/LJ0123455é"
    assert suggest_ids(ids, "quite another thing") == []
    assert suggest_ids(pa.chunked_array([], pa.string()), "x") == []


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("shards/ljspeech-train-00000-of-00002.tfrecord:999", "not 999"),
        ("shards/ljspeech-train-00000-of-00002.tfrecord@99999999", "not 99999999"),
        ("shards/none-train-00000-of-00002.tfrecord:0", "there is no shard none-train"),
        ("/none/such.wav", "no utterance"),
        ("", "no utterance"),
    ],
)
def test_what_is_not_there_is_one_line(what: str, message: str, traced: Path, command: Callable) -> None:
    outcome = command("trace", what, "--data", traced)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_json_output_agrees_with_terminal_output(traced: Path, command: Callable) -> None:
    text = command("trace", "ljspeech/C00004", "--data", traced).out
    details = json.loads(command("trace", "ljspeech/C00004", "--data", traced, "--json").out)
    record = details["record"]
    assert f"{record['file']}:{record['index']}" in text
    assert details["audio"]["recorded_sha256"] in text
    assert details["fingerprint"] in text
    assert details["contract"]["features"]["name"] in text
    assert details["measures"]["frames"] * 256 / 22050 == pytest.approx(details["measures"]["duration_s"], abs=0.02)


def test_a_dataset_that_is_being_written_is_refused(moved: Path, command: Callable) -> None:
    with write_lock(moved, command="build"):
        outcome = command("trace", "ljspeech/C00004", "--data", moved)
    assert outcome.code == 2
    assert "is writing here" in outcome.err


@pytest.mark.slow
def test_a_publication_that_was_killed_is_finished_before_anything_is_read(moved: Path) -> None:
    journal = {"removals": [], "moves": [[f".staging/{'0' * 32}/_SUCCESS", "_SUCCESS"]]}
    Layout(moved).journal.write_text(json.dumps(journal))
    words = [builds.COMMAND, "trace", "ljspeech/C00004", "--data", moved]
    assert subprocess.run(words, capture_output=True, timeout=120).returncode == 0
    assert not Layout(moved).journal.exists()


@pytest.mark.parametrize(
    ("path", "state"),
    [
        ("/absent/a.wav", "missing"),
        ("/absent/a.flac#t=1,2", "missing"),
        ("/" + "x" * 300, "cannot be read (File name too long)"),
        (f"{__file__}/a.wav", "cannot be read (Not a directory)"),
        ("a\0.wav", "cannot be read (embedded null byte)"),
        (f"{__file__}#t=1,2", "cannot be read (libsndfile: Format not recognised.)"),
    ],
)
def test_an_audio_path_that_cannot_be_read_says_why(path: str, state: str) -> None:
    found = audio_state({"audio_path": path, "audio_sha256": "0"})
    assert (found.state, found.current_sha256) == (state, None)


@pytest.mark.slow
def test_an_audio_path_that_is_a_pipe_is_reported_without_waiting(moved: Path, command: Callable) -> None:
    path = Path(json.loads(command("trace", "ljspeech/C00004", "--data", moved, "--json").out)["audio"]["path"])
    path.unlink()
    os.mkfifo(path)
    words = [builds.COMMAND, "trace", "ljspeech/C00004", "--data", moved]
    ended = subprocess.run(words, capture_output=True, timeout=120, text=True, check=False)
    assert "cannot be read (no regular file)" in ended.stdout


def test_a_picture_of_what_has_no_record_is_refused(traced: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has 0 valid records"):
        trace(Dataset.open(traced), "ljspeech/missing", mel=tmp_path / "x.png")


def test_a_picture_of_a_damaged_record_is_refused_with_what_is_wrong_with_it(
    moved: Path, tmp_path: Path, command: Callable
) -> None:
    file, frame = next(frames_of(moved))
    damage.flip(moved / file, position=frame.offset_bytes + 40)
    outcome = command("trace", f"{file}:{frame.index}", "--data", moved, "--mel", tmp_path / "x.png")
    assert outcome.code == 2
    assert f"has 0 valid records; expected one: {file}:{frame.index} is damaged (" in outcome.err


def test_a_picture_of_what_was_rejected_is_refused_with_the_reason(traced: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected one: ljspeech/missing is rejected: missing_audio: "):
        trace(Dataset.open(traced), "ljspeech/missing", mel=tmp_path / "x.png")


def test_a_place_in_another_dataset_than_the_one_given_is_refused(
    moved: Path, traced: Path, tmp_path: Path, command: Callable
) -> None:
    file, frame = next(frames_of(moved))
    link = tmp_path / "link"
    link.symlink_to(moved)
    for root in (moved, link):
        assert command("trace", f"{root}/{file}:{frame.index}", "--data", moved).code == 0
    outcome = command("trace", f"{traced}/{file}:{frame.index}", "--data", moved)
    assert outcome.code == 2
    assert (
        outcome.err == f"error: {traced}/: not the dataset of --data, which is {moved}; name the same dataset in both\n"
    )


@pytest.mark.slow
def test_paths_that_lead_nowhere_from_another_folder_say_from_where(
    tmp_path: Path, command: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=3)
    shutil.copy(builds.TOKENIZER, tmp_path / "tokenizer.json")
    config = builds.config_of(builds.overrides_for(Path(corpus.name), "tokenizer=tokenizer.json", "mel_dtype=none"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    build_dataset(config, data=data)
    monkeypatch.chdir("elsewhere")
    there = f"(from {tmp_path}/elsewhere; a dataset's relative paths are from the folder that its build was given in)"
    assert f"corpus/wavs/C00001.wav: missing {there}\n" in command("trace", "ljspeech/C00001", "--data", data).out
    (data / "vocab.json").unlink()
    assert f"tokenizer tokenizer.json: cannot be read (No such file or directory) {there};" in (
        command("repair", "--data", data).err
    )
    assert f"cannot be read: No such file or directory {there}" in validate_dataset(data).findings[-1].message
    shutil.copy("../tokenizer.json", "tokenizer.json")
    assert f"sources.ljspeech.root: no such directory corpus {there};" in command("repair", "--data", data).err
