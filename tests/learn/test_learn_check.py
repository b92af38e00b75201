"""The learn check itself: the clips that it requests, and the bounds that a speaker with a known error misses."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shared.dataset import Dataset
from shared.errors import UserError
from tests.learn import learn_check
from tests.learn.asr_metrics import AsrMetrics
from tests.learn.clips import Clip, read_clips
from tests.learn.metrics import word_error_rate
from tests.learn.results import Measurement
from tests.learn.synthesis import Prompt, SynthesizedClip

DOCUMENTATION = Path("docs/learning.md")
# how a row of the documentation's table begins, and what its measure is called in the judge's
MEASURES = {
    "attention": "attention moves 0 to 2 tokens",
    "length within 15 %": "length within 15 %",
    "word errors under the grammar": "word errors under the grammar",
    "mel distance": "mel distance, of the untrained model's",
    "the speaker embedding": "voice by speaker embedding",
    "the median pitch": "voice by pitch",
}
WITHOUT_VOICE = {
    "attention moves 0 to 2 tokens": "attention",
    "length within 15 % of either voice's": "length within 15 %",
    "word errors under the grammar": "word errors under the grammar",
}
MOVES, LENGTH, WORDS, DISTANCE, *VOICES = MEASURES.values()
SPLITS = {"train": "training", "validation": "unseen"}

Way = Callable[[Prompt], SynthesizedClip]


def recorded(asked: Prompt) -> SynthesizedClip:
    """The recording itself, its tokens attended one after another."""
    clip = asked.clip
    return spoken(clip.mel, tokens=len(clip.tokens))


def spoken(mel: np.ndarray, *, tokens: int) -> SynthesizedClip:
    return SynthesizedClip(mel, np.eye(tokens)[np.linspace(0, tokens - 1, 2 * tokens).astype(int)])


def babbled(asked: Prompt) -> SynthesizedClip:
    """RngStream of the recording's length."""
    noise = np.random.default_rng(1).normal(-5.0, 2.0, asked.clip.mel.shape).astype(np.float32)
    return spoken(noise, tokens=len(asked.clip.tokens))


@functools.cache
def clips_of(root: Path, *, split: str) -> list[Clip]:
    """The same arrays each time: tones of two sentences may be equal, number by number."""
    return read_clips(Dataset.open(root), split=split)


class Examined:
    """An examination of a speaker who says what it is asked in some way, and what it was asked."""

    def __init__(self, data: Path, *, way: Way, trained_clips: int = 2, kept: Callable[[Clip], bool] = bool):
        self.recordings = [clip for split in SPLITS for clip in clips_of(data, split=split)]
        self.asked: dict[int, list[list[Prompt]]] = {7: [], 0: []}

        def read(dataset: Dataset, *, split: str) -> list[Clip]:
            return [clip for clip in clips_of(dataset.layout.root, split=split) if kept(clip)]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(learn_check, "read_clips", read)
            patch.setattr(
                learn_check, "RunSynthesizer", lambda run, *, dataset, step: _Synthesizer(self, way=way, step=step)
            )
            patch.setattr(learn_check, "MelTranscriber", lambda spec, vocoder: _Transcriber(self))
            _, self.lines = learn_check.measure_run(
                Path("run"), dataset=Dataset.open(data), step=None, trained_clips=trained_clips
            )

    @property
    def missed(self) -> set[tuple[str, str]]:
        return {(line.group, line.measure) for line in self.lines if line.verdict == "missed"}

    def find(self, mel: np.ndarray) -> Clip | None:
        """The recording that a mel is."""
        return next((clip for clip in self.recordings if clip.mel is mel), None)


class _Synthesizer:
    """Says things in a way, or as an untrained model does."""

    def __init__(self, examined: Examined, *, way: Way, step: int | None):
        self.step = 7 if step is None else step
        self._examined, self._way = examined, babbled if step == 0 else way

    def synthesize(self, asked: list[Prompt], *, own_end: bool = True) -> list[SynthesizedClip]:
        assert own_end == (self.step > 0)
        self._examined.asked[self.step].append(asked)
        return [self._way(one) for one in asked]

    def speaker_embeddings(self, mels: list[np.ndarray]) -> np.ndarray:
        found = [self._examined.find(mel) for mel in mels]
        return np.array([(clip.voice == "rms", clip.voice == "slt") if clip else (0, 0) for clip in found], float)


class _Transcriber:
    """Knows the recordings by heart, and understands nothing else."""

    def __init__(self, examined: Examined):
        self._examined = examined

    def evaluate(self, mels: list[np.ndarray], clips: list[Clip]) -> AsrMetrics:
        found = [self._examined.find(mel) for mel in mels]
        heard = [clip.text if clip else "" for clip in found]
        errors = word_error_rate(heard, [clip.text for clip in clips])
        return AsrMetrics(errors, errors, np.array([180.0 if clip and clip.voice == "slt" else 90.0 for clip in found]))


@pytest.fixture(scope="module")
def perfect(data: Path) -> Examined:
    return Examined(data, way=recorded)


def told() -> dict[str, dict[str, tuple[str, float]]]:
    """Sign and bound of each measure for either group, by the documentation's table."""
    text = DOCUMENTATION.read_text(encoding="utf-8")
    table = text.partition("| measure | expected of training | of unseen sentences |\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]
    found = {}
    for words, *cells in rows:
        bounds = [re.match(r"([≥≤]) (\d+) %", cell) for cell in cells]
        name = next(name for name in MEASURES if words.startswith(name))
        found[name] = {
            group: (bound[1], float(bound[2]) / 100) for group, bound in zip(SPLITS.values(), bounds, strict=True)
        }
    return found


def bounds(lines: list[Measurement], *, group: str) -> dict[str, tuple[str, float]]:
    return {line.measure: (line.sign, line.bound) for line in lines if line.group == group and line.bound is not None}


def test_the_bounds_are_those_that_the_documentation_tells(perfect: Examined) -> None:
    documented = told()
    assert set(documented) == set(MEASURES)
    for group in SPLITS.values():
        wanted = {measure: documented[name][group] for name, measure in MEASURES.items()}
        assert bounds(perfect.lines, group=group) == wanted
    wanted = {measure: documented[name]["unseen"] for measure, name in WITHOUT_VOICE.items()}
    assert bounds(perfect.lines, group=learn_check.NO_REFERENCE) == wanted


def test_a_speaker_that_says_the_recordings_themselves_meets_every_bound(perfect: Examined) -> None:
    assert perfect.missed == set()
    got = {(line.group, line.measure): line.got for line in perfect.lines}
    for group in SPLITS.values():
        assert [got[group, one] for one in (MOVES, LENGTH, WORDS, *VOICES)] == [1, 1, 0, 1, 1]
        assert got[group, DISTANCE] < 0.01


def test_of_each_split_its_own_group_is_asked_and_no_sentence_is_in_both(data: Path, perfect: Examined) -> None:
    trained, unseen, voiceless = perfect.asked[7]
    assert perfect.asked[0] == [trained, unseen]
    texts = {split: set(texts_of(data, split=split)) for split in SPLITS}
    assert {one.clip.text for one in trained} <= texts["train"]
    assert {one.clip.text for one in unseen} == {one.clip.text for one in voiceless} == texts["validation"]
    assert not texts["train"] & texts["validation"]
    for asked in (trained, unseen):
        said = [(one.clip.text, one.clip.voice) for one in asked]
        assert sorted(said) == sorted((text, voice) for text in {text for text, _ in said} for voice in ("rms", "slt"))
    assert len(voiceless) == len(texts["validation"])


def texts_of(data: Path, *, split: str) -> list[str]:
    """As the manifest has them."""
    return Dataset.open(data).manifest(split).column("text").to_pylist()


@pytest.mark.parametrize(("split", "group"), SPLITS.items())
def test_what_is_said_badly_of_a_split_is_missed_in_its_group_alone(split: str, group: str, data: Path) -> None:
    texts = set(texts_of(data, split=split))
    examined = Examined(data, way=lambda asked: (babbled if asked.clip.text in texts else recorded)(asked))
    assert {(group, DISTANCE), (group, WORDS)} <= examined.missed
    assert {name for name, _ in examined.missed} <= {group, f"{group}, no voice asked for"}


def test_a_reference_is_another_sentence_in_the_asked_voice_that_training_never_heard(
    data: Path, perfect: Examined
) -> None:
    held_out = set(texts_of(data, split="validation")) - set(texts_of(data, split="train"))
    trained, unseen, voiceless = perfect.asked[7]
    for clip, reference in [*trained, *unseen]:
        assert reference is not None
        assert reference.voice == clip.voice
        assert reference.text in held_out - {clip.text}
    assert [one.reference for one in voiceless] == [None] * len(voiceless)


def another_sentence(asked: Prompt) -> SynthesizedClip:
    return recorded(Prompt(asked.reference or asked.clip, None))


def shortened(asked: Prompt) -> SynthesizedClip:
    return recorded(asked)._replace(mel=asked.clip.mel[: int(0.8 * asked.clip.frames)])


def backwards(asked: Prompt) -> SynthesizedClip:
    said = recorded(asked)
    return said._replace(alignment=said.alignment[::-1])


@pytest.mark.parametrize(
    ("way", "missed", "met"),
    [
        (another_sentence, {WORDS}, {MOVES, *VOICES}),
        (shortened, {LENGTH}, {MOVES, DISTANCE}),  # of which this ear understands nothing
        (backwards, {MOVES}, {LENGTH, WORDS, DISTANCE, *VOICES}),
    ],
)
def test_what_is_wrong_in_every_clip_is_missed_by_its_measure(
    way: Way, missed: set[str], met: set[str], data: Path
) -> None:
    examined = Examined(data, way=way)
    for group in SPLITS.values():
        found = {measure for name, measure in examined.missed if name == group}
        assert missed <= found
        assert not found & met


def test_a_sentence_in_the_other_voice_is_told_by_both_measures_of_voices_and_by_no_other(data: Path) -> None:
    held = {(clip.text, clip.voice): clip for split in SPLITS for clip in clips_of(data, split=split)}
    other = {"rms": "slt", "slt": "rms"}
    examined = Examined(data, way=lambda asked: recorded(Prompt(held[asked.clip.text, other[asked.clip.voice]], None)))
    assert {measure for _, measure in examined.missed} >= set(VOICES)
    assert {measure for _, measure in examined.missed} <= {*VOICES, DISTANCE}


def test_so_many_clips_of_training_are_spread_over_all_of_its_sentences(data: Path) -> None:
    texts = sorted(set(texts_of(data, split="train")))
    asked = Examined(data, way=recorded, trained_clips=4).asked[7][0]
    assert sorted({one.clip.text for one in asked}) == [texts[0], texts[-1]]


@pytest.mark.parametrize("name", ["voice", "text"])
def test_data_of_one_voice_or_of_one_sentence_are_refused(name: str, data: Path) -> None:
    first = clips_of(data, split="validation")[0]
    with pytest.raises(UserError, match="expected two voices and two held-out sentences or more"):
        Examined(data, way=recorded, kept=lambda clip: getattr(clip, name) == getattr(first, name))
