"""An exported model, loaded by TensorFlow alone in a process that cannot import this code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from shared.dataset import Dataset
from shared.errors import UserError
from shared.vocabulary import Vocabulary
from trainer.checkpoint.checkpoint import Progress, Snapshot, copy_to_host, named_variables, write_checkpoint
from trainer.checkpoint.run_dir import build_model, prepare_run_info, write_run_files
from trainer.config.model_config import ModelConfig
from trainer.config.train_config import TrainConfig
from trainer.data.position import Position
from trainer.data.reference_length import ReferenceLength
from trainer.model.reference_encoder import Conditioning
from trainer.model.xtts import XTTS, Generated
from trainer.optim.ema import average_name
from trainer.speech.options import SpeechOptions
from trainer.speech.synthesizer import Synthesizer
from trainer.tools.export import LEFTOVER_S, _check_replaceable, _copy_voices, _new_folder, synthesizer

STRANGER = """
import sys, numpy as np, tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1]).signatures["synthesize"]
given = np.load(sys.argv[2])
said = loaded(tokens=tf.constant(given["tokens"]), crop=tf.constant(given["crop"]), seed=tf.constant(7))
longer = loaded(tokens=tf.constant(given["tokens"]), crop=tf.constant(given["longer"]), seed=tf.constant(7))
voiceless = loaded(tokens=tf.constant(given["tokens"]), crop=tf.zeros([1, 0, 80]), seed=tf.constant(7))
assert not np.array_equal(voiceless["mel"], said["mel"])
assert not {"trainer", "shared"} & set(sys.modules)
ways = {"": said, "voiceless_": voiceless, "longer_": longer}
np.savez(sys.argv[3], **{way + name: value.numpy() for way, given in ways.items() for name, value in given.items()})
"""


TOLERANCES = {"float32": 1e-3, "bfloat16": 0.3}  # of mels


@pytest.fixture
def trained_model(dataset: Dataset, tmp_path: Path, request: pytest.FixtureRequest) -> XTTS:
    """The model that the averages of a run's weights are, moved off their start; the weights themselves are others.

    In float32, unless a test asks for another precision.
    """
    precision = getattr(request, "param", "float32")
    config = TrainConfig(model=ModelConfig(size="pico", precision=precision, crop_frames=24), xla=False)
    write_run_files(
        tmp_path / "run", prepare_run_info(tmp_path / "run", config=config, dataset=dataset), dataset=dataset
    )
    contract = dataset.info.contract
    model = build_model(config, contract=contract, vocabulary=Vocabulary.load(dataset.layout.vocabulary))
    random = np.random.default_rng(3)
    for variable in model.trainable_variables:
        variable.assign_add(random.normal(0.0, 0.02, variable.shape).astype(np.float32))
    arrays = copy_to_host(named_variables(model))
    for variable in model.trainable_variables:
        arrays[f"optimizer/{average_name(variable.path)}"] = variable.numpy()
        arrays[f"model/{variable.path}"] = variable.numpy() + 1.0
    snapshot = Snapshot(arrays, Progress(5, Position(), "order"), contract.fingerprint)
    write_checkpoint(tmp_path / "run", snapshot, max_to_keep=1)
    return model


class Mirror:
    """Says the mean of the crops that it is given, in six steps."""

    config, variables = SimpleNamespace(crop_frames=24, frames_per_step=4), ()

    def encode_reference(self, crops: tf.Tensor, frames: tf.Tensor) -> Conditioning:
        return Conditioning(crops, tf.cast(frames, tf.float32)[:, None])

    def encode_memory(self, tokens: tf.Tensor, _: tf.Tensor, voice: Conditioning) -> tuple[tf.Tensor, Conditioning]:
        return tokens, voice

    def generate_from(self, memory: tuple[tf.Tensor, Conditioning], *, max_steps: int, **_: object) -> Generated:
        tokens, voice = memory
        alignment = tf.zeros([1, max_steps, tokens.shape[1]])
        return Generated(voice.latents, tf.constant([max_steps]), tf.constant([True]), alignment)


@pytest.mark.parametrize(("tokens", "starts"), [(3, [0, 5, 11, 17, 22, 28, 34]), (9, [0, 19]), (10, [0, 16])])
def test_an_export_hears_all_of_a_voice_in_pieces_that_go_with_the_text(tokens: int, starts: list[int]) -> None:
    lengths = ReferenceLength(tokens=10, frames_per_token=5.0)
    module = synthesizer(Mirror(), lengths=lengths, n_mels=2, max_tokens=10, max_steps=6)  # type: ignore[arg-type]
    crop = np.random.default_rng(1).normal(-5.0, 2.0, [1, 40, 2]).astype(np.float32)
    said = module.synthesize(tf.ones([1, tokens], tf.int32), crop, 1)["mel"].numpy()[0]
    size = 40 - starts[-1]
    np.testing.assert_allclose(said[:size], np.mean([crop[0, at : at + size] for at in starts], 0), atol=1e-5)
    assert not said[size:].any()


@pytest.mark.slow
@pytest.mark.parametrize("trained_model", ["float32", pytest.param("bfloat16", marks=pytest.mark.soak)], indirect=True)
def test_a_saved_model_says_the_same_without_this_code(trained_model: XTTS, command: Callable, tmp_path: Path) -> None:
    outcome = command(
        "export", "--run", tmp_path / "run", "--out", tmp_path / "out", "--seconds", "0.5", "--tokens", "24"
    )
    assert outcome.code == 0, outcome.err
    assert f"{tmp_path / 'out'}: the checkpoint, of step 5, " in outcome.out
    random = np.random.default_rng(4)
    tokens = random.integers(1, 30, [1, 11]).astype(np.int32)
    crop = random.normal(-5.0, 2.0, [1, 24, 80]).astype(np.float32)
    longer = np.concatenate([crop, crop], 1)  # two pieces, whose mean is either of them
    np.savez(tmp_path / "given.npz", tokens=tokens, crop=crop, longer=longer)
    words = [sys.executable, "-c", STRANGER, *map(str, (tmp_path / "out" / "saved_model", tmp_path / "given.npz"))]
    ended = subprocess.run([*words, str(tmp_path / "said.npz")], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    said = np.load(tmp_path / "said.npz")
    signature = json.loads((tmp_path / "out" / "signature.json").read_text(encoding="utf-8"))
    assert signature["max_tokens"] == 24
    for way, crop_frames in (
        ("", 24),
        ("longer_", 24),
        ("voiceless_", 0),
    ):  # what stands in a crop beyond its frames does not count
        here = trained_model.generate(
            tf.constant(tokens),
            token_counts=tf.constant([11]),
            crop=tf.constant(crop),
            crop_frames=tf.constant([crop_frames]),
            max_steps=signature["max_steps"],
            seed=7,
        )
        steps = int(here.steps[0])
        assert said[f"{way}steps"].tolist() == [steps]
        assert said[f"{way}alignment"].shape == (1, steps, 11)
        tolerance = TOLERANCES[trained_model.config.precision]
        np.testing.assert_allclose(said[f"{way}mel"], here.mel[:, : steps * 4], atol=tolerance)
    weights = safetensors.numpy.load_file(tmp_path / "out" / "weights.safetensors")
    assert {name: array.tobytes() for name, array in weights.items()} == {
        name: np.asarray(variable).tobytes() for name, variable in named_variables(trained_model).items()
    }
    spoken = [
        Synthesizer.load(folder).say("It is loud.", language="en", options=SpeechOptions(max_sentence_s=0.3), log=len)
        for folder in (tmp_path / "run", tmp_path / "out")
    ]
    np.testing.assert_array_equal(spoken[1].samples, spoken[0].samples)


def test_an_export_has_the_voices_of_its_run_and_keeps_its_own(tmp_path: Path) -> None:
    run, out = tmp_path / "run" / "voices", tmp_path / "out" / "voices"
    _copy_voices(tmp_path / "none", sources=(out, run))
    assert not (tmp_path / "none").exists()
    for folder, names in ((run, "ab"), (out, "bc")):
        folder.mkdir(parents=True)
        for name in names:
            (folder / f"{name}.safetensors").write_text(f"{name} of {folder.parent.name}")
    _copy_voices(tmp_path / "new", sources=(out, run))
    copied = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    assert copied == {"a.safetensors": "a of run", "b.safetensors": "b of run", "c.safetensors": "c of out"}


def test_training_does_not_go_on_in_an_export(dataset: Dataset, tmp_path: Path) -> None:
    (tmp_path / "weights.safetensors").touch()
    with pytest.raises(UserError, match=r"an export, which training cannot continue; .* with init_from="):
        prepare_run_info(tmp_path, config=TrainConfig(), dataset=dataset)


@pytest.mark.usefixtures("trained_model")
def test_another_checkpoint_than_there_is_cannot_be_exported(command: Callable, tmp_path: Path) -> None:
    outcome = command("export", "--run", tmp_path / "run", "--out", tmp_path / "out", "--checkpoint", "77")
    assert outcome.code == 2
    assert "no checkpoint 77; expected one of 5, last" in outcome.err
    assert not (tmp_path / "out").exists()


def test_a_run_without_checkpoint_is_told(command: Callable, tmp_path: Path) -> None:
    outcome = command("export", "--run", tmp_path, "--out", tmp_path / "out")
    assert outcome.code == 2
    assert "no run here" in outcome.err


def put(out: Path, *, is_cut_short: bool = False, **contents: str) -> None:
    with _new_folder(out) as folder:
        (folder / "saved_model").mkdir()
        for name, content in contents.items():
            (folder / f"{name}.json").write_text(content)
        if is_cut_short:
            raise RuntimeError


def found(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.glob("*.json")}


def test_an_export_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    with pytest.raises(RuntimeError):
        put(out, run="new", is_cut_short=True)
    assert list((tmp_path / "new").iterdir()) == []
    put(out, run="old", vocab="old")
    with pytest.raises(RuntimeError):
        put(out, run="new", is_cut_short=True)
    assert found(out) == {"run.json": "old", "vocab.json": "old"}
    _check_replaceable(out)
    put(out, run="new")
    assert found(out) == {"run.json": "new"}
    assert list((tmp_path / "new").iterdir()) == [out]


def test_an_export_removes_what_a_killed_one_left_and_not_what_another_still_writes(tmp_path: Path) -> None:
    names = ("out[1]", *(f".{name}.{'0' * 32}.tmp" for name in ("out[1]", "other", "out[1].v2")))
    out, killed, other, longer = (tmp_path / name for name in names)
    (killed / "saved_model").mkdir(parents=True)
    other.mkdir()
    longer.mkdir()
    for folder in (killed, other, longer):
        os.utime(folder, (time.time() - LEFTOVER_S - 60,) * 2)
    with _new_folder(out) as slow:
        put(out, run="fast")
        assert not killed.exists()
        (slow / "run.json").write_text("slow")
    assert found(out) == {"run.json": "slow"}
    assert set(tmp_path.iterdir()) == {out, other, longer}


def test_an_export_takes_the_place_of_nothing_but_an_export(tmp_path: Path) -> None:
    _check_replaceable(tmp_path)
    _check_replaceable(tmp_path / "nowhere")
    (tmp_path / "run").mkdir()
    for name in ("thesis.txt", "run/run.json", "run/vocab.json"):
        (tmp_path / name).touch()
    for out in (tmp_path, tmp_path / "thesis.txt", tmp_path / "run"):
        with pytest.raises(UserError, match="which is no part of an export; expected a new folder"):
            _check_replaceable(out)
