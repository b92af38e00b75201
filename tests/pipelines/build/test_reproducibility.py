"""The bytes of a dataset depend on the corpus and the config alone."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path

import pytest

from pipelines.build.input_states import input_state
from pipelines.build.preparation import create_preparation
from pipelines.build.prepare_shards import Listed, prepare_shard, sort_elements
from pipelines.build.staging import Staging
from pipelines.build.take_over import Candidates
from pipelines.config import BuildConfig
from pipelines.execution.progress_counter import ProgressCounter
from preprocess.utterance import Reason, Rejection, Utterance
from shared.config import load_config
from tests.pipelines import builds


@pytest.mark.slow
def test_two_builds_are_byte_identical(sample: Path, tmp_path: Path) -> None:
    assert builds.content(builds.build(tmp_path / "again")) == builds.content(sample)


@pytest.mark.slow
def test_a_build_over_an_older_one_is_byte_identical(small: Path, spoiled: Path, tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=2)
    builds.build(spoiled, config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(corpus))
    assert builds.content(spoiled) != builds.content(small)
    builds.build(spoiled, config=builds.SAMPLE_CONFIG)
    assert builds.content(spoiled) == builds.content(builds.build(tmp_path / "fresh"))


@pytest.mark.slow
def test_worker_processes_and_hash_seed_change_no_byte(sample: Path, tmp_path: Path) -> None:
    words = [builds.COMMAND, "build", builds.SAMPLE_CONFIG, "workers=2", "--data", tmp_path / "data"]
    subprocess.run(words, check=True, capture_output=True, env=os.environ | {"PYTHONHASHSEED": "1"}, timeout=100)
    assert builds.content(tmp_path / "data") == builds.content(sample)


def test_a_shard_does_not_depend_on_the_order_in_which_its_utterances_arrive(tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=1)

    def utterance(name: str, *, text: str) -> Utterance:
        audio = str(corpus / "wavs" / "C00000.wav")
        return Utterance(id=f"a/{name}", audio_path=audio, text=text, language="eng_Latn", speaker="a/b")

    elements = [
        utterance("x", text="One."),
        utterance("x", text="The same id, another text."),
        utterance("y", text="Two."),
        Rejection(
            id="a/m:3", audio_path="", language="", stage="corpus", reason=Reason.BAD_METADATA_ROW, message="2 fields"
        ),
    ]
    config = load_config(builds.LJSPEECH_CONFIG, of=BuildConfig, overrides=builds.overrides_for(corpus))
    prepare = create_preparation(config)
    name, contents = "a-train-00000-of-00001", []
    for number, order in enumerate(itertools.permutations(elements)):
        staging = Staging(tmp_path / str(number))
        staging.create(fingerprint="same", made_by={})
        progress = ProgressCounter(staging.progress_folder, name=name)
        in_order = [Listed(one, input_state(one)) for one in sort_elements(order)]
        prepare_shard(
            in_order,
            shard_name=name,
            inputs="x",
            staging=staging,
            prepare=prepare,
            older=Candidates(),
            progress=progress,
        )
        files = (staging.records_path(name), staging.rows_path(name), staging.failed_path(name))
        contents.append(tuple(path.read_bytes() for path in files))
    assert len(set(contents)) == 1
