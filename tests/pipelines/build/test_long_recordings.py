"""Parts of a long recording give the dataset that the same clips give as files of their own."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipelines.trace.command import is_ok, trace
from preprocess.audio import Signal, decode_audio
from preprocess.parts import part_id
from shared.dataset import Dataset
from tests.pipelines import builds

CLIPS, PAUSE_S = 6, 0.75
OPTIONS = ("validation_fraction=0", "max_rejected_fraction=0", "workers=1")


def make_corpora(root: Path) -> tuple[Path, Path]:
    """A recording of six sentences with its labels, and a folder of the same sentences as wavs."""
    long, cut = root / "long", root / "cut"
    long.mkdir()
    cut.mkdir()
    lines = (builds.ENGLISH / "metadata.csv").read_text().splitlines()[:CLIPS]
    samples, labels, position = list[np.ndarray](), list[str](), 0
    for line in lines:
        name, text = line.split("|")[:2]
        clip, rate_hz = soundfile.read(builds.ENGLISH / "wavs" / f"{name}.wav", dtype="int16")
        pause = np.random.default_rng(0).integers(-9, 9, int(PAUSE_S * rate_hz)).astype(np.int16)
        start = position + len(pause)
        position = start + len(clip)
        samples += [pause, clip]
        start_s, end_s = start / rate_hz, position / rate_hz
        labels.append(f"{start_s:.6f}\t{end_s:.6f}\t{text}\n")
        stem = part_id("talk", start_s=start_s, end_s=end_s)
        soundfile.write(cut / f"{stem}.wav", clip, rate_hz)
        (cut / f"{stem}.txt").write_text(text)
    soundfile.write(long / "talk.flac", np.concatenate(samples), rate_hz)
    (long / "talk.txt").write_text("".join(labels))
    return long, cut


def build(reader: str, *, root: Path, data: Path) -> Dataset:
    source = f"sources={{one: {{reader: {reader}, root: {root}, language: en, speaker: anna}}}}"
    builds.build(data, overrides=[source, *OPTIONS])
    return Dataset.open(data)


@pytest.mark.slow
def test_parts_of_a_recording_give_the_mels_of_their_clips_and_are_not_prepared_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, cut = make_corpora(tmp_path)
    found = build("transcripts", root=long, data=tmp_path / "found")
    expected = build("folder", root=cut, data=tmp_path / "expected")
    records, clips = (sorted(one.records("train"), key=lambda record: record.utterance_id) for one in (found, expected))
    assert [record.utterance_id for record in records] == [clip.utterance_id for clip in clips]
    assert len(records) == CLIPS
    for record, clip in zip(records, clips, strict=True):
        np.testing.assert_array_equal(record.mel, clip.mel)
        assert (record.text, record.tokens) == (clip.text, clip.tokens)

    details = trace(found, str(long / "talk.flac"), reproduce=True)  # from the recording to the same mels
    assert len(details) == CLIPS
    assert all(map(is_ok, details))
    (one,) = trace(found, details[0].audio.path, reproduce=False)
    assert one.utterance_id == details[0].utterance_id

    lengths = count_decoded(monkeypatch)
    before = builds.content(tmp_path / "found")
    os.utime(long / "talk.flac", (1, 1))
    build("transcripts", root=long, data=tmp_path / "found")
    assert lengths == []
    assert {name for name, data in builds.content(tmp_path / "found").items() if before[name] != data} <= {
        "dataset.json",
        "_SUCCESS",
    }


@pytest.mark.slow
def test_of_a_recording_that_is_written_anew_only_parts_with_other_samples_are_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, _ = make_corpora(tmp_path)
    before = {
        one.utterance_id: one.mel for one in build("transcripts", root=long, data=tmp_path / "data").records("train")
    }
    samples, rate_hz = soundfile.read(long / "talk.flac", dtype="int16")
    start_s = float((long / "talk.txt").read_text().splitlines()[2].split("\t")[0])
    samples[int((start_s + 0.3) * rate_hz) :][: rate_hz // 10] //= 2
    soundfile.write(long / "talk.flac", samples, rate_hz)
    lengths = count_decoded(monkeypatch)
    after = {
        one.utterance_id: one.mel for one in build("transcripts", root=long, data=tmp_path / "data").records("train")
    }
    assert len(lengths) == 1
    changed = {name for name, mel in after.items() if not np.array_equal(mel, before[name])}
    assert [name.startswith(f"one/talk-{round(start_s * 1000):07d}-") for name in changed] == [True]


def mels_of(dataset: Dataset) -> dict[str, np.ndarray]:
    return {record.utterance_id: record.mel for record in dataset.records("train")}


def count_decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths in bytes of the recordings that are decoded to be prepared from now on."""
    lengths = list[int]()

    def decode(data: bytes, **options: float) -> Signal:
        lengths.append(len(data))
        return decode_audio(data, **options)

    monkeypatch.setattr("preprocess.record.decode_audio", decode)
    return lengths


@pytest.mark.slow
def test_one_time_that_changes_prepares_one_part_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long, _ = make_corpora(tmp_path)
    build("transcripts", root=long, data=tmp_path / "data")
    labels = long / "talk.txt"
    first, *others = labels.read_text().splitlines(keepends=True)
    start, end, text = first.split("\t")
    labels.write_text("".join([f"{start}\t{float(end) - 0.2:.6f}\t{text}", *others]))
    lengths = count_decoded(monkeypatch)
    changed = build("transcripts", root=long, data=tmp_path / "data")
    assert len(lengths) == 1
    kept = {record.utterance_id: len(record.mel) for record in changed.records("train")}
    assert len(kept) == CLIPS
    assert part_id("one/talk", start_s=float(start), end_s=float(end) - 0.2) in kept
    assert part_id("one/talk", start_s=float(start), end_s=float(end)) not in kept
