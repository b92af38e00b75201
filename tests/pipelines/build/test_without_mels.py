"""Datasets without stored mels, which training computes itself: smaller, and otherwise the same."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile
from PIL import Image

from pipelines.build import mel_reader
from pipelines.build.mel_reader import MelReader
from pipelines.build.preparation import create_preparation
from pipelines.config import BuildConfig
from pipelines.repair.repair import repair_dataset
from pipelines.validation.validate import validate_dataset
from preprocess.mel import log_mel
from preprocess.record import Preparation
from preprocess.utterance import Reason, Rejection, Utterance
from shared.config import load_config
from shared.dataset import Dataset
from shared.features import preset
from shared.records import decode
from tests.pipelines import builds, damage
from tests.pipelines.trace.test_trace import assert_shown

CLIPS = 12
OVERRIDES = ("mel_dtype=none", "utterances_per_shard=6", "validation_fraction=0.3")
# what may differ from a dataset that stores its mels: where records stand
PLACES = {"offset_bytes", "length_bytes"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clips that may be removed."""
    folder = builds.make_corpus(tmp_path_factory.mktemp("without") / "corpus", clips=CLIPS)
    for path in sorted((folder / "wavs").iterdir()):
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)
    return folder


def built(corpus: Path, data: Path, *more: str) -> Path:
    return builds.build(data, config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(corpus, *OVERRIDES, *more))


@pytest.fixture(scope="module")
def data(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset without mels; tests must not change it."""
    return built(corpus, tmp_path_factory.mktemp("data") / "data")


@pytest.fixture(scope="module")
def stored(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(corpus, tmp_path_factory.mktemp("stored") / "data", "mel_dtype=float32")


@pytest.fixture
def copied(data: Path, tmp_path: Path) -> Path:
    return builds.copied(data, to=tmp_path / "copied")


def payload_of_first(data: Path) -> bytes:
    return damage.payloads(data, stem=damage.stems(data)[0])[0]


def test_a_record_holds_mean_deviation_and_drift_of_each_band(data: Path) -> None:
    seen = 0
    for stem in damage.stems(data):
        rows = pq.read_table(data / "manifest" / f"{stem}.parquet").to_pylist()
        for row, payload in zip(rows, damage.payloads(data, stem=stem), strict=True):
            samples, _ = soundfile.read(row["audio_path"], dtype="float32")
            mel = log_mel(samples, spec=preset("hifigan-22k"))
            features = decode(payload)
            (stored,) = features["mel"]
            assert features["frames"] == [len(mel)] == [row["frames"]]
            moments = np.frombuffer(stored, "<f4").reshape(3, 80)  # type: ignore[call-overload]
            drift = np.average(np.linspace(-1, 1, len(mel))[:, None] * mel, axis=0)
            np.testing.assert_allclose(moments, [mel.mean(axis=0), mel.std(axis=0), drift], atol=1e-5)
            seen += 1
    assert seen == CLIPS


def test_everything_except_the_mels_equals_a_dataset_with_mels(data: Path, stored: Path) -> None:
    ours, theirs = Dataset.open(data), Dataset.open(stored)
    for split in ("train", "validation"):
        wanted = theirs.manifest(split).drop_columns(sorted(PLACES))
        assert ours.manifest(split).drop_columns(sorted(PLACES)).equals(wanted)
    for name in ("mean", "std"):
        np.testing.assert_allclose(getattr(ours.info.mel, name), getattr(theirs.info.mel, name), atol=1e-5)
    assert sum(shard.bytes for shard in ours.info.shards) < 2_000 * CLIPS
    assert ours.info.fingerprint != theirs.info.fingerprint
    assert ours.info.vocabulary_sha256 == theirs.info.vocabulary_sha256


@pytest.mark.slow
def test_it_validates_clean_and_its_records_are_recognised_by_their_expected_bytes(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("pipelines.validation.record_inspector.parse_record")
    assert validate_dataset(copied, workers=1).findings == []


def moments(mean: float = -5.0, deviation: float = 1.0, drift: float = -0.1) -> bytes:
    return np.repeat(np.array([[mean], [deviation], [drift]], "<f4"), 80, axis=1).tobytes()


SPOILED = [
    ("shape", b""),
    ("shape", moments()[:-4]),
    ("shape", np.zeros((200, 80), "<f2").tobytes()),
    ("finite", moments(mean=np.nan)),
    ("finite", moments(deviation=np.inf)),
    ("range", moments(mean=-40.0)),
    ("range", moments(mean=40.0)),
    ("range", moments(deviation=-0.1)),
    ("range", moments(deviation=30.0)),
    ("finite", moments(drift=-np.inf)),
    ("range", moments(drift=-20.0)),
]


@pytest.mark.parametrize(("check", "mel"), SPOILED)
def test_moments_that_no_mel_can_have_are_found(check: str, mel: bytes, copied: Path, tmp_path: Path) -> None:
    stem, index = damage.stems(copied)[0], 1
    payloads = damage.payloads(copied, stem=stem)
    payloads[index] = damage.edit_record(payloads[index], mel=[mel])
    damage.write_payloads(copied, stem=stem, payloads=payloads)
    findings = damage.inspect(copied, stem=stem, progress=tmp_path / "p")
    assert (check, index) in {(finding.check, finding.index) for finding in findings}


@pytest.mark.slow
def test_moments_in_place_of_a_stored_mel_are_found(stored: Path, tmp_path: Path) -> None:
    spoiled = builds.copied(stored, to=tmp_path / "spoiled")
    stem = damage.stems(spoiled)[0]
    payloads = damage.payloads(spoiled, stem=stem)
    damage.write_payloads(
        spoiled, stem=stem, payloads=[damage.edit_record(payloads[0], mel=[moments()]), *payloads[1:]]
    )
    findings = damage.inspect(spoiled, stem=stem, progress=tmp_path / "p")
    assert ("shape", 0) in {(finding.check, finding.index) for finding in findings}


@pytest.fixture
def recording(copied: Path) -> Iterator[Path]:
    """One of the kept recordings, restored at the end."""
    path = Path(Dataset.open(copied).manifest("train").to_pylist()[1]["audio_path"])
    content, state = path.read_bytes(), path.stat()
    yield path
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def remove(path: Path) -> None:
    path.unlink()


def overwrite(path: Path) -> None:
    damage.flip(path, position=path.stat().st_size // 2)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


SPOIL = [(remove, "cannot be read: No such file"), (overwrite, "has sha256 "), (pipe, "cannot be read: no regular")]


@pytest.mark.slow
@pytest.mark.parametrize(("spoil", "expected"), SPOIL)
def test_a_changed_recording_is_found(spoil: Callable, expected: str, recording: Path, copied: Path) -> None:
    """Training reads the recordings and stops at the first missing one."""
    assert validate_dataset(copied).findings == []
    spoil(recording)
    for changed in (True, False):
        (finding,) = validate_dataset(copied, changed=changed).findings
        row = Dataset.open(copied).manifest("train").to_pylist()[1]
        assert (finding.file, finding.check) == (f"shards/{row['shard']}.tfrecord", "recording")
        assert (finding.index, finding.utterance_id) == (row["index"], row["utterance_id"])
        assert finding.message.startswith(f"its recording {recording} {expected}")
        assert finding.fix.startswith("put the recordings back, or build without them: make preprocess ")
    assert repair_dataset(copied).damaged == (), "it has nothing to make it from"


@pytest.mark.slow
def test_unchanged_recordings_are_not_read_again(recording: Path, copied: Path) -> None:
    shards = len(damage.stems(copied))
    assert validate_dataset(copied).trusted == 0
    assert validate_dataset(copied, changed=True).trusted == shards
    os.utime(recording)
    report = validate_dataset(copied, changed=True)
    assert (report.trusted, report.findings) == (shards - 1, [])


def test_a_disk_that_fails_while_copies_are_proven_does_not_make_them_different_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = SimpleNamespace()
    assert MelReader._mel_of_recording(reader, str(tmp_path / "gone.wav"), "") is None  # type: ignore[arg-type]

    def fail(path: str) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    monkeypatch.setattr(mel_reader, "read_audio_file", fail)
    with pytest.raises(OSError, match="Input/output error"):
        MelReader._mel_of_recording(reader, "there.wav", "")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_wrong_statistic_is_found(copied: Path) -> None:
    damage.edit_info(copied, change=lambda info: info["mel"]["mean"].__setitem__(7, 0.0))
    assert ("dataset.json", "statistics") in {(one.file, one.check) for one in validate_dataset(copied).findings}


@pytest.mark.slow
def test_another_threshold_decodes_nothing(
    corpus: Path, data: Path, copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statistics of the other records are correct too."""
    before = Dataset.open(data).info
    with monkeypatch.context() as patch:
        patch.delattr(Preparation, "__call__")
        built(corpus, copied, "checks.max_duration_s=2.3", "max_rejected_fraction=1")
    after = Dataset.open(copied).info
    assert 0 < sum(shard.records for shard in after.shards) < CLIPS
    assert after.mel != before.mel
    assert validate_dataset(copied).findings == []
    fresh = built(corpus, tmp_path / "fresh", "checks.max_duration_s=2.3", "max_rejected_fraction=1")
    assert builds.content(copied) == builds.content(fresh)


def test_a_missing_shard_is_made_again_with_the_same_bytes(data: Path, copied: Path) -> None:
    (copied / "shards" / f"{damage.stems(data)[0]}.tfrecord").unlink()
    repair_dataset(copied)
    repaired = {name: one for name, one in builds.content(copied).items() if not name.startswith("quarantine/")}
    assert repaired == builds.content(data)


def test_trace_reproduces_the_record_and_draws_the_mel(data: Path, tmp_path: Path, command: Callable) -> None:
    name = decode(payload_of_first(data))["utterance_id"][0].decode()  # type: ignore[union-attr]
    outcome = command("trace", name, "--data", data, "--reproduce", "--mel", tmp_path / "mel.png")
    assert outcome.code == 0
    assert "the same bytes" in outcome.out
    assert "80 mels, not stored" in outcome.out
    rows = Dataset.open(data).manifest("train").to_pylist() + Dataset.open(data).manifest("validation").to_pylist()
    (path,) = (row["audio_path"] for row in rows if row["utterance_id"] == name)
    mel = log_mel(soundfile.read(path, dtype="float32")[0], spec=preset("hifigan-22k"))
    assert_shown(mel.astype(np.float64), Image.open(tmp_path / "mel.png"))


def test_compare_reports_the_difference_from_stored_mels(data: Path, stored: Path, command: Callable) -> None:
    outcome = command("compare", data, stored)
    assert outcome.code == 1
    assert 'config.mel_dtype: "none" → "float32"' in outcome.out
    assert f"{CLIPS} changed mels" in outcome.out


def test_the_report_shows_mels_computed_from_the_recordings(copied: Path, command: Callable) -> None:
    assert command("report", "--data", copied).code == 0
    page = (copied / "report.html").read_text(encoding="utf-8")
    assert "The mel as computed in training" in page
    assert page.count('alt="mel spectrogram') >= CLIPS
    assert "cannot be read" not in page


@pytest.mark.parametrize("step", ["trim_db=40", "loudness_lufs=-20", "max_peak=0.9"])
def test_processing_that_training_cannot_do_is_an_error_of_the_config(
    step: str, corpus: Path, tmp_path: Path, command: Callable
) -> None:
    outcome = command(*builds.build_words(corpus, "mel_dtype=none", f"processing.{step}", data=tmp_path / "data"))
    assert outcome.code == 2
    assert f"training computes the mels without processing.{step.partition('=')[0]}" in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("subtype", "rate_hz", "container", "message"),
    [
        ("PCM_24", 22_050, "WAV", "a wav of format 1 with 24 bits, not 16-bit PCM, which training"),
        ("PCM_16", 44_100, "WAV", "a wav at 44100 Hz, not at 22050, which training"),
        ("PCM_16", 22_050, "FLAC", "no RIFF wav, which training"),
    ],
)
def test_audio_that_training_cannot_read_is_rejected_with_a_reason(
    subtype: str, rate_hz: int, container: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "clip.wav"
    samples = 0.1 * np.sin(np.arange(rate_hz))
    soundfile.write(path, samples, rate_hz, subtype=subtype, format=container)
    utterance = Utterance(
        id="x/a", audio_path=str(path), text="The kettle is singing again.", language="eng_Latn", speaker="x/LJ"
    )
    config = load_config(builds.SAMPLE_CONFIG, of=BuildConfig, overrides=["mel_dtype=none"])
    outcome = create_preparation(config)(utterance)
    assert isinstance(outcome, Rejection)
    assert outcome.reason is Reason.NOT_PLAIN_WAV
    assert message in outcome.message
    assert not isinstance(create_preparation(config.model_copy(update={"mel_dtype": "float16"}))(utterance), Rejection)


@pytest.mark.slow
def test_a_corpus_that_training_cannot_read_exceeds_the_budget(tmp_path: Path, command: Callable) -> None:
    outcome = command("build", builds.SAMPLE_CONFIG, "mel_dtype=none", "--data", tmp_path / "data")
    assert outcome.code == 2
    assert "32 of 64 utterances (all) were rejected: 32 not_plain_wav" in outcome.err
    shutil.rmtree(tmp_path / "data")
