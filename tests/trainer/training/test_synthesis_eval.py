"""Synthesis evaluation: always the same clips, with correct measures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.features import preset
from tests.trainer.batches import DEVICE, make_stream
from tests.trainer.conftest import built
from tests.trainer.vocoders import write_small_vocoder
from trainer.config.synthesis_eval_config import SynthesisEvalConfig
from trainer.data.pipeline import Stream
from trainer.data.reference_length import ReferenceLength
from trainer.evaluation import listeners
from trainer.model.xtts import Generated
from trainer.monitoring.logger import RunLogger
from trainer.monitoring.samples import Sample, Samples, as_int16, read_samples, write_samples
from trainer.training import synthesis_eval
from trainer.training.eval_prompts import Clip, choose_prompts, reference_crops
from trainer.training.synthesis_eval import SynthesisEval
from trainer.training.synthesis_metrics import SynthesisMeasures, monotonic_share, synthesis_metrics
from trainer.vocoder.vocoder import Vocoder

R = 4


class Echo:
    """A model that repeats its reference crop, one token per step, and stops after so many steps."""

    config = SimpleNamespace(frames_per_step=R, crop_frames=64)

    def __init__(self, *, stops_after: int):
        self._stops_after = stops_after

    def begin_generation(self, *_: int, steps: int) -> tf.Tensor:
        return tf.constant(steps)

    def generate(self, tokens: tf.Tensor, *, crop: tf.Tensor, max_steps: int, **_: object) -> Generated:
        steps = min(self._stops_after, max_steps)
        mel = tf.gather(crop, tf.range(max_steps * R) % crop.shape[1], axis=1)
        alignment = tf.one_hot(tf.range(max_steps) % tokens.shape[1], tokens.shape[1])
        batch = tokens.shape[0]
        stopped = tf.fill([batch], self._stops_after <= max_steps)
        return Generated(mel, tf.fill([batch], steps), stopped, tf.tile(alignment[None], [batch, 1, 1]))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A dataset of which a third is for validation."""
    return Dataset.open(built(tmp_path_factory.mktemp("sample") / "data", overrides=["validation_fraction=0.3"]))


@pytest.fixture(autouse=True)
def _mute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace Griffin-Lim, which has its own tests and is slow."""
    monkeypatch.setattr(synthesis_eval, "griffin_lim", lambda mel, **_: np.zeros(len(mel) * 256, np.float32))


def validation(dataset: Dataset, *, frames: int) -> Stream:
    _, plan, config = make_stream(dataset, buckets=2, global_frames_per_batch=frames)
    return Stream(dataset, split="validation", plan=plan, config=config, seed=1)


def echoing(dataset: Dataset, *, stops_after: int, clips: int, vocoder: str | None = None) -> SynthesisEval:
    lengths, config = ReferenceLength.of(dataset, max_frames=None), SynthesisEvalConfig(clips=clips, vocoder=vocoder)
    return SynthesisEval(Echo(stops_after=stops_after), config=config, dataset=dataset, lengths=lengths, seed=1)  # type: ignore[arg-type]


def heard(dataset: Dataset, *, stops_after: int = 20, clips: int = 3, frames: int = 1500) -> SynthesisEval:
    """Return a SynthesisEval after one complete validation."""
    stream = validation(dataset, frames=frames)
    running = echoing(dataset, stops_after=stops_after, clips=clips)
    for _ in running.collect_clips(stream.once(device=DEVICE), stream=stream):
        pass
    return running


@pytest.mark.slow
def test_a_vocoder_of_the_settings_makes_the_sounds(dataset: Dataset, tmp_path: Path) -> None:
    path = write_small_vocoder(tmp_path / "vocoder.safetensors", features="hifigan-22k")
    stream = validation(dataset, frames=1500)
    running = echoing(dataset, stops_after=20, clips=2, vocoder=str(path))
    for _ in running.collect_clips(stream.once(device=DEVICE), stream=stream):
        pass
    vocoder = Vocoder.load(path)
    for sample in running.synthesize():
        np.testing.assert_array_equal(sample.spoken_sound, as_int16(vocoder(sample.spoken)))
        np.testing.assert_array_equal(sample.target_sound, as_int16(vocoder(sample.target)))
        assert np.abs(sample.spoken_sound).max() > 0
    with pytest.raises(UserError, match=r"none: cannot be read"):
        echoing(dataset, stops_after=20, clips=2, vocoder=str(tmp_path / "none"))
    echoing(dataset, stops_after=20, clips=0, vocoder=str(tmp_path / "none"))  # which makes no sounds


def described(samples: list[Sample]) -> dict[str, tuple[str, int]]:
    return {one.utterance_id: (one.text, len(one.target)) for one in samples}


@pytest.mark.slow
def test_the_same_clips_are_spoken_whatever_their_batches_and_as_the_manifest_tells_of_them(dataset: Dataset) -> None:
    once = described(heard(dataset, frames=1500).synthesize())
    assert described(heard(dataset, frames=800).synthesize()) == once
    table = dataset.manifest("validation").to_pylist()
    rows = {row["utterance_id"]: (row["text"], row["frames"]) for row in table}
    assert len(once) == 3
    assert once.items() <= rows.items()


@pytest.mark.slow
def test_each_clip_is_spoken_in_the_voice_of_its_speakers_longest_other_clip(dataset: Dataset) -> None:
    stream = validation(dataset, frames=1500)
    choice = choose_prompts(
        dataset, split="validation", heard=stream.utterance_ids(stream.sampled_rows), count=16, seed=1
    )
    rows = {row["utterance_id"]: row for row in dataset.manifest("validation").to_pylist()}
    for name, reference in choice.references.items():
        others = {
            one: row["frames"] for one, row in rows.items() if row["speaker"] == rows[name]["speaker"] and one != name
        }
        assert (reference is None) == (not others)
        if reference:
            assert reference in others
            assert others[reference] == max(others.values())
    assert any(choice.references.values())
    running = heard(dataset, clips=16)
    lent = dict(zip((one.utterance_id for one in running.synthesize()), running._inputs["crop"].numpy(), strict=True))
    mels = mels_of(dataset)
    for name, reference in choice.references.items():
        given = lent[name]
        if reference:
            half = rows[name]["tokens"] * pace(dataset) / 2
            shortest = Echo.config.crop_frames // 8  # of training's crops; others are multiples of it
            most = min(max(int(half) // shortest * shortest, shortest), Echo.config.crop_frames, len(mels[reference]))
            start = loudest_start(mels[reference], most=most)
            np.testing.assert_array_equal(given[:most], mels[reference][start : start + most])
            assert not given[most:].any()
        else:
            np.testing.assert_array_equal(given[:8], mels[name][:8])


def test_clips_of_speakers_who_have_no_other_come_last(dataset: Dataset) -> None:
    """Their reference would have to be their own frames."""
    speakers = {row["utterance_id"]: row["speaker"] for row in dataset.manifest("validation").to_pylist()}
    first, *_, last = sorted(speakers, key=speakers.__getitem__)
    heard_names = [name for name in speakers if speakers[name] != speakers[first] or name == first]
    assert speakers[first] != speakers[last]
    for seed in range(5):
        choice = choose_prompts(dataset, split="validation", heard=heard_names, count=len(heard_names), seed=seed)
        assert choice.references[first] is None
        assert list(choice.texts)[-1] == first
        assert all(choice.references[name] for name in heard_names if name != first)


def pace(dataset: Dataset) -> float:
    """Frames per token; nine in ten clips of the fastest language have more."""
    paces: dict[str, list[float]] = {}
    for row in dataset.manifest("train").to_pylist():
        paces.setdefault(row["language"], []).append(row["frames"] / row["tokens"])
    return min(float(np.quantile(one, 0.1)) for one in paces.values())


def loudest_start(mel: np.ndarray, *, most: int) -> int:
    return int(np.argmax([mel[start : start + most].astype(float).mean() for start in range(len(mel) - most + 1)]))


def mels_of(dataset: Dataset) -> dict[str, np.ndarray]:
    """Return the clips of the validation split."""
    stream, found = validation(dataset, frames=1500), {}
    for batch in stream.once(device=DEVICE):
        rows = batch["rows"].numpy()
        mels = zip(batch["mel"].numpy()[rows >= 0], batch["frames"].numpy()[rows >= 0], strict=True)
        found |= {name: mel[:frames] for name, (mel, frames) in zip(stream.utterance_ids(rows), mels, strict=True)}
    return found


def test_clips_of_speakers_without_another_lend_themselves_equally_long_first_parts() -> None:
    clips = [
        Clip(str(frames), np.full((frames, 2), frames, np.float32), np.ones(3, np.int32)) for frames in (30, 50, 9)
    ]
    lengths = ReferenceLength(tokens=3, frames_per_token=99.0)
    crops = reference_crops(clips, references=[None, clips[2], None], lengths=lengths, crop_frames=12)
    assert [crop[:, 0].tolist() for crop in crops] == [[30.0] * 4, [9.0] * 9, [9.0] * 4]


@pytest.mark.slow
def test_fewer_clips_than_are_wanted_are_all_spoken_and_none_where_none_is_wanted(dataset: Dataset) -> None:
    assert len(heard(dataset, clips=16).synthesize()) == min(16, len(dataset.manifest("validation")))
    none = heard(dataset, clips=0)
    assert none.synthesize() == []
    assert none.programs == 0


@pytest.mark.slow
def test_nothing_is_synthesized_after_an_interrupted_validation(dataset: Dataset) -> None:
    stream = validation(dataset, frames=800)
    running = echoing(dataset, stops_after=9, clips=2)
    batches: Iterator = running.collect_clips(stream.once(device=DEVICE), stream=stream)
    next(batches)
    assert running.synthesize() == []


@pytest.mark.slow
def test_one_program_speaks_for_good_and_no_longer_than_half_as_long_again_as_the_longest_clip(
    dataset: Dataset,
) -> None:
    running = heard(dataset, stops_after=10_000)
    first, again = running.synthesize(), running.synthesize()
    assert running.programs == 1
    assert [one.spoken.tobytes() for one in first] == [one.spoken.tobytes() for one in again]
    longest = max(len(one.target) for one in first)
    assert all(1.5 * longest <= len(one.spoken) < 1.5 * longest + R for one in first)
    assert synthesis_metrics(first)["free_ended"] == 0


@pytest.mark.slow
def test_the_speech_is_cut_at_its_end_and_its_length_is_judged(dataset: Dataset) -> None:
    samples = heard(dataset, stops_after=20).synthesize()
    assert [one.spoken.shape[0] for one in samples] == [20 * R] * 3
    assert [one.alignment.shape[0] for one in samples] == [20] * 3
    figures = synthesis_metrics(samples)
    assert figures["free_ended"] == 1
    assert figures["free_length_error"] == pytest.approx(
        np.mean([abs(20 * R - len(one.target)) / len(one.target) for one in samples])
    )
    assert figures["free_moves"] > 0.8
    assert figures["free_mel_distance_db"] > 1
    whole = [one._replace(spoken=one.target) for one in samples]
    assert synthesis_metrics(whole)["free_mel_distance_db"] < 0.1
    assert synthesis_metrics(whole)["free_length_error"] == 0


def test_moves_of_no_to_two_tokens_count_as_forward() -> None:
    moves = {0: True, 1: True, 2: True, 3: False, -1: False}
    places = np.concatenate([[5], 5 + np.cumsum(list(moves))])
    assert monotonic_share(np.eye(20)[places]) == pytest.approx(sum(moves.values()) / len(moves))
    assert monotonic_share(np.eye(20)[:1]) == 1.0


@pytest.mark.slow
def test_nonfinite_speech_gives_nonfinite_metrics(dataset: Dataset) -> None:
    lost = [one._replace(spoken=np.full_like(one.spoken, np.nan)) for one in heard(dataset).synthesize()]
    assert np.isnan(synthesis_metrics(lost)["free_mel_distance_db"])


@pytest.mark.slow
def test_samples_are_read_back_to_half_precision_and_shown_in_tensorboard(dataset: Dataset, tmp_path: Path) -> None:
    samples = Samples(7, 22050, heard(dataset).synthesize())
    write_samples(samples, run=tmp_path)
    again = read_samples(tmp_path)
    assert again is not None
    assert (again.step, again.rate_hz, described(again.all)) == (7, 22050, described(samples.all))
    for one, other in zip(samples.all, again.all, strict=True):
        np.testing.assert_allclose(one.spoken, other.spoken, atol=1e-2)
        assert np.array_equal(one.spoken_sound, other.spoken_sound)
        assert abs(len(one.spoken_sound) - len(one.spoken) * 256) <= 256
    with RunLogger(tmp_path, step=0, steps=10, validate_every=100) as monitor:
        monitor.log_samples(samples)
    tags = shown(tmp_path / "tensorboard")
    assert {f"spoken/{number}/{what}" for number in range(3) for what in WHAT} == tags


WHAT = ("spoken", "target", "alignment", "target_over_spoken")


def shown(folder: Path) -> set[str]:
    from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

    return set(EventAccumulator(str(folder)).Reload().Tags()["tensors"])


@pytest.mark.parametrize("content", [None, b"", b"PK", b"\x93NUMPY"])
def test_samples_of_no_use_are_none(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "samples.npz").write_bytes(content)
    assert read_samples(tmp_path) is None


class Ear:
    """Hears English: what was said where the sound is loud, and one word otherwise."""

    def hears(self, language: str) -> bool:
        return language == "eng_Latn"

    def transcribe(self, samples: np.ndarray, **_: object) -> str:
        return "the old lady" if samples.max() > 0.5 else "lady"


@pytest.mark.slow
def test_words_and_pitch_are_measured_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "open_listener", lambda name: {"ear": Ear()}[name])
    mel = np.random.default_rng(0).normal(-5, 1, (40, 80)).astype(np.float32)
    hum = np.sin(2 * np.pi * 150 / 22_050 * np.arange(40 * 256))
    loud, quiet = (np.round(level * 32767 * hum).astype(np.int16) for level in (0.9, 0.1))
    clips = [
        Sample(name, "The old lady.", mel, mel, np.eye(2), np.True_, loud, sound)
        for name, sound in (("a", loud), ("b", quiet), ("c", quiet))
    ]
    languages = {"a": "eng_Latn", "b": "eng_Latn", "c": "deu_Latn"}
    asked = SynthesisEvalConfig(listener="ear", pitch=True)
    found = SynthesisMeasures(asked, spec=preset("hifigan-22k")).measure(clips, languages=languages)
    assert found["free_word_errors"] == 2 / 6
    assert found["free_character_errors"] == 8 / 24
    assert (found["free_recording_word_errors"], found["free_recording_character_errors"]) == (0, 0)
    assert found["free_f0_rms_cents"] == pytest.approx(0.0, abs=5)
    assert found["free_voicing_error"] == pytest.approx(0.0, abs=0.1)
    nothing = SynthesisMeasures(SynthesisEvalConfig(), spec=preset("hifigan-22k"))
    assert nothing.measure(clips, languages=languages) == {}
    foreign = SynthesisMeasures(SynthesisEvalConfig(listener="ear"), spec=preset("hifigan-22k"))
    assert foreign.measure(clips[2:], languages=languages) == {}
