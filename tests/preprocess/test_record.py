from __future__ import annotations

import dataclasses
import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile

from preprocess.audio_file import MAX_FILE_BYTES
from preprocess.corpora import read_corpus
from preprocess.corpora.ljspeech import LJSpeech
from preprocess.record import Preparation, PreparedUtterance
from preprocess.text import spoken_characters
from preprocess.tokens import Tokenizer
from preprocess.utterance import Reason, Rejection, Utterance, rejection
from shared.features import PRESETS, preset
from shared.processing import Processing
from shared.records import decode, encode
from shared.vocabulary import UNKNOWN_ID

CORPORA = Path(__file__).parents[1] / "corpora"
CLIP = CORPORA / "english/wavs/EN001-0001.wav"
DECODE_LIMIT_S = 5.0
RATE_HZ = 22050
NOBODY = 65534  # the user who owns nothing

tone = 0.1 * np.sin(np.arange(RATE_HZ, dtype=np.float64) / 20)
Attempt = Callable[[Path], Utterance]


@pytest.fixture(scope="module")
def prepare() -> Preparation:
    tokenizer = Tokenizer(str(CORPORA / "tokenizer.json"))
    return preparation_with(tokenizer, decode_limit_s=DECODE_LIMIT_S)


def preparation_with(tokenizer: Tokenizer, *, decode_limit_s: float = 20.0) -> Preparation:
    return Preparation(
        features=preset("hifigan-22k"),
        mel_dtype="float16",
        waveform_dtype="none",
        tokenizer=tokenizer,
        processing=Processing(),
        decode_limit_s=decode_limit_s,
    )


def test_a_part_of_a_recording_has_no_place_in_a_dataset_without_mels(prepare: Preparation) -> None:
    part = utterance_of(f"{CLIP}#t=0.2,1.2")
    assert isinstance(prepare(part), PreparedUtterance)
    refused = dataclasses.replace(prepare, mel_dtype="none")(part)
    assert isinstance(refused, Rejection)
    assert (refused.stage, refused.reason) == ("audio", Reason.NOT_PLAIN_WAV)
    assert refused.message == "a part of a file; with mel_dtype=none the trainer reads files that are whole wavs"


def utterance_of(audio_path: Path | str, *, text: str = "The kettle is singing again.") -> Utterance:
    return Utterance(id="x/a", audio_path=str(audio_path), text=text, language="eng_Latn", speaker="x/LJ")


def recording(path: Path, samples: np.ndarray, *, subtype: str = "PCM_16") -> Utterance:
    soundfile.write(path, samples, RATE_HZ, format="WAV", subtype=subtype)
    return utterance_of(path)


def file_of(path: Path, data: bytes) -> Utterance:
    path.write_bytes(data)
    return utterance_of(path)


@pytest.mark.slow
def test_the_32_ljspeech_clips_become_records_that_equal_the_reference(reference: Path) -> None:
    tokenizer = Tokenizer(str(reference / "nllb/tokenizer.json"))
    prepare = preparation_with(tokenizer)
    root = reference / "corpora/LJSpeech-1.1"
    source = LJSpeech(reader="ljspeech", root=root, language="eng_Latn")
    outcomes = [prepare(one) for one in read_corpus(source, name="lj") if isinstance(one, Utterance)]
    prepared = {
        one.record.utterance_id.removeprefix("lj/"): one for one in outcomes if isinstance(one, PreparedUtterance)
    }
    assert len(outcomes) == len(prepared) == 32
    for stem, one in prepared.items():
        path = root / f"wavs/{stem}.wav"
        assert one.record.frames == soundfile.info(path).frames // 256
        assert one.record.mel.dtype == np.float16
        measures = one.manifest_columns()
        assert measures["audio_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert measures["unknown_tokens"] == 0
        assert measures["duration_s"] == soundfile.info(path).frames / RATE_HZ
    for file in sorted((reference / "golden/mel_hifigan_22k").glob("LJ*.npz")):
        np.testing.assert_allclose(prepared[file.stem].record.mel, np.load(file)["log_mel"], atol=0.005)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("mel_dtype", ["float16", "float32"])
def test_a_record_survives_the_disk(prepare: Preparation, name: str, mel_dtype: str) -> None:
    outcome = dataclasses.replace(prepare, features=preset(name), mel_dtype=mel_dtype)(utterance_of(CLIP))
    assert isinstance(outcome, PreparedUtterance)
    record, recording = outcome.record, outcome.recording
    assert record.frames == preset(name).num_frames(round(recording.duration_s * preset(name).sample_rate_hz))
    assert recording.rate_hz == soundfile.info(CLIP).samplerate
    (stored,) = decode(encode(record))["mel"]
    assert isinstance(stored, bytes)
    mel = np.frombuffer(stored, f"<f{np.dtype(mel_dtype).itemsize}").reshape(-1, preset(name).n_mels)
    np.testing.assert_array_equal(mel, record.mel)
    assert np.isfinite(mel).all()


def test_a_record_does_not_depend_on_what_was_prepared_before_it(prepare: Preparation, tmp_path: Path) -> None:
    first = prepare(utterance_of(CLIP))
    prepare(recording(tmp_path / "other.wav", tone))
    again = prepare(utterance_of(CLIP))
    assert isinstance(first, PreparedUtterance)
    assert isinstance(again, PreparedUtterance)
    assert encode(first.record) == encode(again.record)


def too_large(path: Path) -> Utterance:
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)  # sparse: it costs no disk
    return utterance_of(path)


REJECTIONS: list[tuple[str, Reason, Attempt]] = [
    ("audio", Reason.MISSING_AUDIO, utterance_of),
    ("audio", Reason.MISSING_AUDIO, lambda path: utterance_of(path.parent)),
    ("audio", Reason.MISSING_AUDIO, lambda path: utterance_of(CLIP / "below-a-file.wav")),
    ("audio", Reason.MISSING_AUDIO, lambda path: utterance_of(path.with_name("n" * 300))),
    ("audio", Reason.UNREADABLE_AUDIO, lambda path: file_of(path, b"")),
    ("audio", Reason.UNREADABLE_AUDIO, lambda path: file_of(path, b"the text\n" * 100)),
    ("audio", Reason.UNREADABLE_AUDIO, lambda path: recording(path, 30000 * tone, subtype="FLOAT")),
    ("audio", Reason.EMPTY_AUDIO, lambda path: recording(path, tone[:0])),
    ("audio", Reason.NON_FINITE_AUDIO, lambda path: recording(path, tone + np.nan, subtype="FLOAT")),
    ("audio", Reason.TRUNCATED_AUDIO, lambda path: file_of(path, CLIP.read_bytes()[:20_000])),
    ("audio", Reason.TOO_SHORT, lambda path: recording(path, tone[:1])),
    ("audio", Reason.UNDECODED_LENGTH, lambda path: recording(path, np.tile(tone, 6))),
    ("audio", Reason.UNDECODED_LENGTH, too_large),
    ("text", Reason.EMPTY_TEXT, lambda path: utterance_of(CLIP, text="")),
    ("text", Reason.EMPTY_TEXT, lambda path: utterance_of(CLIP, text=" \u200b\x00\n")),
]


@pytest.mark.parametrize(("stage", "reason", "attempt"), REJECTIONS)
def test_an_error_in_an_utterances_data_is_a_rejection(
    stage: str, reason: Reason, attempt: Attempt, prepare: Preparation, tmp_path: Path
) -> None:
    utterance = attempt(tmp_path / "clip.wav")
    outcome = prepare(utterance)
    assert isinstance(outcome, Rejection)
    assert (outcome.stage, outcome.reason) == (stage, reason)
    assert (outcome.id, outcome.audio_path) == (utterance.id, utterance.audio_path)
    assert outcome.message
    assert "\n" not in outcome.message


@pytest.mark.parametrize(
    ("text", "characters"), [("kettle " * 50, ""), ("水壺", "壺水"), ("</s> the 水", "/<>s水"), ("the 水 kettle", "水")]
)
def test_undesirable_properties_of_a_text_are_measured_and_not_rejected(
    text: str, characters: str, prepare: Preparation
) -> None:
    outcome = prepare(utterance_of(CLIP, text=text))
    assert isinstance(outcome, PreparedUtterance)
    measures = outcome.manifest_columns()
    assert measures["unknown_characters"] == characters
    assert measures["tokens"] == len(outcome.record.tokens)
    assert measures["unknown_tokens"] == outcome.record.tokens.count(UNKNOWN_ID)
    assert (UNKNOWN_ID in outcome.record.tokens) == bool(characters)


def test_a_short_clip_is_measured_and_left_to_the_checks(prepare: Preparation, tmp_path: Path) -> None:
    outcome = prepare(recording(tmp_path / "clip.wav", tone[:4410]))
    assert isinstance(outcome, PreparedUtterance)
    assert outcome.manifest_columns()["duration_s"] == 0.2
    assert outcome.manifest_columns()["characters_per_second"] == 23 / 0.2


@pytest.mark.parametrize(
    ("text", "characters"), [("Don't stop, 1 2!", 10), ("نمی‌دانم", 7), ("नमस्ते", 6), ("你好。", 2), ("😀 —", 0)]
)
def test_spoken_characters_are_letters_digits_and_their_marks(text: str, characters: int) -> None:
    assert len(spoken_characters(text)) == characters


def test_the_quality_of_the_file_is_measured_before_processing_and_its_length_after(
    prepare: Preparation, tmp_path: Path
) -> None:
    quiet = np.concatenate([np.zeros(RATE_HZ), 0.1 * tone, np.zeros(RATE_HZ)])
    steps = Processing(trim_db=40.0, trim_margin_s=0.0, max_peak=1.0, loudness_lufs=-20.0)
    outcome = dataclasses.replace(prepare, processing=steps)(recording(tmp_path / "clip.wav", quiet))
    assert isinstance(outcome, PreparedUtterance)
    measures = outcome.manifest_columns()
    assert measures["duration_s"] == pytest.approx(1.0, abs=0.03)
    assert measures["peak"] == pytest.approx(0.01, rel=0.01)


def test_a_header_without_samples_is_empty_audio(prepare: Preparation, reference: Path) -> None:
    outcome = prepare(utterance_of(reference / "corpora/audio_formats/empty.wav"))
    assert isinstance(outcome, Rejection)
    assert outcome.reason == Reason.EMPTY_AUDIO


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read every file, so that root tests as another user."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_that_may_not_be_read_is_missing(prepare: Preparation, tmp_path: Path) -> None:
    utterance = recording(tmp_path / "clip.wav", tone)
    assert not isinstance(prepare(utterance), Rejection)  # imports everything that the user below may not read
    Path(utterance.audio_path).chmod(0)
    with as_nobody():
        outcome = prepare(utterance)
    assert isinstance(outcome, Rejection)
    assert outcome.reason == Reason.MISSING_AUDIO


def test_a_link_to_itself_is_missing(prepare: Preparation, tmp_path: Path) -> None:
    (tmp_path / "loop.wav").symlink_to(tmp_path / "loop.wav")
    outcome = prepare(utterance_of(tmp_path / "loop.wav"))
    assert isinstance(outcome, Rejection)
    assert outcome.reason == Reason.MISSING_AUDIO


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Makes the next attempts to open a file fail; the pauses that are made meanwhile are listed, and take no time."""

    def fail(number: int, *, times: int) -> list[float]:
        opened, left, pauses = os.open, iter(range(times)), []

        def open_or_fail(path: str, flags: int) -> int:
            if next(left, None) is not None:
                raise OSError(number, os.strerror(number), path)
            return opened(path, flags)

        monkeypatch.setattr(os, "open", open_or_fail)
        monkeypatch.setattr(time, "sleep", pauses.append)
        return pauses

    return fail


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ETIMEDOUT])
def test_a_disk_that_fails_for_a_moment_is_tried_again(
    number: int, prepare: Preparation, tmp_path: Path, failing: Callable[..., list[float]]
) -> None:
    """One such failure ended a build of hours."""
    one = recording(tmp_path / "a.wav", np.random.default_rng(1).normal(size=9000) / 10)
    pauses = failing(number, times=3)
    assert isinstance(prepare(one), PreparedUtterance)
    assert pauses == sorted(pauses)
    assert len(pauses) == 3


def test_a_recording_that_the_disk_never_reads_is_rejected_as_such(
    prepare: Preparation, tmp_path: Path, failing: Callable[..., list[float]]
) -> None:
    one = recording(tmp_path / "a.wav", np.zeros(9000))
    failing(errno.EIO, times=4)
    outcome = prepare(one)
    assert isinstance(outcome, Rejection)
    assert (outcome.stage, outcome.reason) == ("reading", Reason.UNREADABLE_AUDIO)
    assert outcome.message == "Input/output error, at each of 4 attempts"


def test_a_lack_of_file_handles_is_nobodys_rejection(
    prepare: Preparation, tmp_path: Path, failing: Callable[..., list[float]]
) -> None:
    pauses = failing(errno.EMFILE, times=1)
    with pytest.raises(OSError, match="Too many open files"):
        prepare(recording(tmp_path / "a.wav", np.zeros(9000)))
    assert pauses == []


def test_a_rejection_carries_its_utterance() -> None:
    one = rejection(utterance_of("/a.wav"), stage="shard", reason=Reason.DUPLICATE_ID, message="twice")
    assert one == Rejection(
        id="x/a",
        audio_path="/a.wav",
        language="eng_Latn",
        stage="shard",
        reason=Reason.DUPLICATE_ID,
        message="twice",
    )
