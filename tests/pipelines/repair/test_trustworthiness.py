"""Misleading datasets and corpora: repair and replay do not trust them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.build import prepare_shards
from pipelines.repair.repair import repair_dataset
from pipelines.repair.replay import replay_dataset
from pipelines.validation.validate import validate_dataset
from shared.dataset import Dataset
from shared.errors import UserError
from tests.pipelines import builds, damage

CLIPS = 16


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Clips that a test may change."""
    folder = builds.make_corpus(tmp_path / "corpus", clips=CLIPS)
    for path in (folder / "wavs").iterdir():
        good = path.read_bytes()
        path.unlink()
        path.write_bytes(good)
    shutil.copy(builds.TOKENIZER, tmp_path / "tokenizer.json")
    return folder


def words(corpus: Path, *more: str) -> list[str]:
    tokenizer = f"tokenizer={corpus.parent / 'tokenizer.json'}"
    limits = ("utterances_per_shard=6", "validation_fraction=0.2", "max_rejected_fraction=0.5")
    return [*builds.overrides_for(corpus, *limits), tokenizer, *more]


def build(corpus: Path, name: str = "data", *more: str) -> Path:
    return builds.build(corpus.parent / name, config=builds.LJSPEECH_CONFIG, overrides=words(corpus, *more))


def spoil_a_shard(data: Path) -> Path:
    shard = max((data / "shards").iterdir(), key=lambda path: path.stat().st_size)
    damage.flip(shard, position=1_000)
    return shard


def published(data: Path) -> dict[str, bytes]:
    other = ("quarantine/", ".staging/")
    return {name: found for name, found in builds.content(data).items() if not name.startswith(other)}


def a_clip_of(data: Path, shard: Path, corpus: Path) -> Path:
    rows = Dataset.open(data).manifest(shard.stem.split("-")[1]).to_pylist()
    name = next(row["utterance_id"] for row in rows if row["shard"] == shard.stem)
    return corpus / f"wavs/{name.split('/')[1]}.wav"


@pytest.mark.slow
def test_a_temporarily_missing_clip_is_not_rejected_for_good(corpus: Path) -> None:
    data = build(corpus)
    before = published(data)
    clip = a_clip_of(data, spoil_a_shard(data), corpus)
    clip.rename(corpus / "away")
    assert repair_dataset(data).is_aborted
    assert not (data / ".staging").exists()
    (corpus / "away").rename(clip)
    assert repair_dataset(data).differing == ()
    assert published(data) == before


def exchange_two_pieces(tokenizer: Path) -> None:
    """Edit a tokenizer file so that it gives other ids."""
    document = json.loads(tokenizer.read_text(encoding="utf-8"))
    vocabulary = document["model"]["vocab"]
    one, other = [piece for piece in vocabulary if piece.startswith("▁") and len(piece) > 2][:2]
    vocabulary[one], vocabulary[other] = vocabulary[other], vocabulary[one]
    tokenizer.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


@pytest.mark.parametrize("words", [("repair",), ("repair", "--accept-changes"), ("replay",)])
def test_a_replaced_tokenizer_is_refused(words: tuple[str, ...], corpus: Path, command: Callable) -> None:
    (corpus / "wavs/C00003.wav").write_bytes(b"no wav")
    data = build(corpus)
    if words[0] == "repair":
        spoil_a_shard(data)
    before = published(data)
    exchange_two_pieces(corpus.parent / "tokenizer.json")
    outcome = command(*words, "--data", data)
    assert outcome.code == 2
    assert "its tokenizer differs from that of the build; restore it" in outcome.err
    assert published(data) == before


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["shards/*", "rejected/*", "manifest/*", "vocab.json"])
def test_a_replay_of_a_damaged_dataset_is_refused(pattern: str, corpus: Path, command: Callable) -> None:
    good = (corpus / "wavs/C00003.wav").read_bytes()
    (corpus / "wavs/C00003.wav").write_bytes(b"no wav")
    data = build(corpus)
    path = max(data.glob(pattern), key=lambda path: path.stat().st_size)
    damage.flip(path, position=path.stat().st_size // 2)
    outcome = command("replay", "--data", data)
    assert outcome.code == 2
    assert f"{path.relative_to(data)} is damaged; run `make repair DATA={data}` first" in outcome.err
    assert repair_dataset(data).differing == ()
    (corpus / "wavs/C00003.wav").write_bytes(good)
    assert command("replay", "--data", data).code == 0
    assert published(data) == published(build(corpus, "fresh"))


@pytest.mark.slow
def test_intact_shards_of_a_changed_corpus_do_not_get_its_hash_of_inputs(corpus: Path) -> None:
    """dataset.json is lost, and with it the hashes of the shards' inputs."""
    data = build(corpus)
    shard = max((data / "shards").iterdir(), key=lambda path: path.stat().st_size)
    clip = a_clip_of(data, shard, corpus)
    shutil.copy(corpus / "wavs/C00000.wav", clip) if clip.name != "C00000.wav" else os.utime(clip)
    (data / "dataset.json").write_text("{")
    repair = repair_dataset(data)
    assert repair.is_aborted
    assert not repair_dataset(data, accept_changes=True).is_aborted
    assert validate_dataset(data).findings == []
    assert published(build(corpus)) == published(build(corpus, "fresh"))


@pytest.mark.parametrize("lost", ["both", "a split", "a line"])
def test_nothing_is_repaired_if_both_lists_of_files_are_lost(lost: str, corpus: Path) -> None:
    data = build(corpus)
    lines = (data / "_SUCCESS").read_text().splitlines(keepends=True)
    kept = {
        "both": [],
        "a split": [line for line in lines if "-validation-" not in line],
        "a line": [line for line in lines if "  shards/ljspeech-train-00000-" not in line],
    }[lost]
    (data / "_SUCCESS").write_text("".join(kept))
    (data / "dataset.json").write_text("")
    before = published(data)
    with pytest.raises(UserError, match=r"neither dataset\.json nor _SUCCESS lists all published shards"):
        repair_dataset(data, config=builds.config_of(words(corpus)))
    assert published(data) == before


@pytest.mark.slow
def test_a_given_config_is_compared_with_the_datasets_if_its_sum_is_lost(corpus: Path) -> None:
    data = build(corpus)
    (data / "_SUCCESS").unlink()
    with pytest.raises(UserError, match="was built with another config than the one given"):
        repair_dataset(data, config=builds.config_of(words(corpus, "checks.max_duration_s=1.7")))
    assert repair_dataset(data, config=builds.config_of(words(corpus))).damaged == ("_SUCCESS",)
    assert published(data) == published(build(corpus, "fresh"))


@pytest.mark.slow
def test_a_missing_corpus_does_not_empty_the_dataset(corpus: Path, command: Callable) -> None:
    data = build(corpus)
    for shard in (data / "shards").iterdir():
        damage.flip(shard, position=1_000)
    for path in (corpus / "wavs").iterdir():
        path.unlink()
    before = published(data)
    outcome = command("repair", "--data", data, "--accept-changes")
    assert outcome.code == 2
    assert "were rejected" in outcome.err
    assert published(data) == before


def test_a_duplicate_id_is_not_recovered_again_and_again(corpus: Path) -> None:
    with (corpus / "metadata.csv").open("a") as rows:
        rows.write("C00002|The kettle is singing again.|The kettle is singing again.\n")
    data = build(corpus)
    before = published(data)
    replay = replay_dataset(data)
    assert (replay.recovered, replay.shards) == ((), ())
    assert published(data) == before
    assert not (data / ".staging").exists()


@pytest.mark.slow
def test_an_utterance_that_a_recovered_one_displaces_is_reported(corpus: Path, command: Callable) -> None:
    """All clips have one text, and one more clip has it than is allowed."""
    good = {path: path.read_bytes() for path in sorted((corpus / "wavs").iterdir())[:4]}
    for path in good:
        path.write_bytes(b"no wav")
    more = ("checks.max_text_repeats=5", "max_rejected_fraction=1")
    data = build(corpus, "data", *more)
    for path, content in good.items():
        path.write_bytes(content)
    outcome = command("replay", "--data", data)
    assert outcome.code == 0
    assert "it was kept, and is withheld" in outcome.out
    assert published(data) == published(build(corpus, "fresh", *more))


def test_a_mistyped_folder_is_not_created(tmp_path: Path, command: Callable) -> None:
    for name in ("repair", "replay"):
        outcome = command(name, "--data", tmp_path / "typo")
        assert outcome.code == 2
        assert "no such directory" in outcome.err
    assert not (tmp_path / "typo").exists()


@pytest.mark.slow
@pytest.mark.parametrize("job", [repair_dataset, replay_dataset])
def test_an_utterance_that_disappears_during_the_job_is_an_error(
    job: Callable, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was listed, but neither written nor rejected."""
    good = (corpus / "wavs/C00003.wav").read_bytes()
    (corpus / "wavs/C00003.wav").write_bytes(b"no wav")
    data = build(corpus)
    (corpus / "wavs/C00003.wav").write_bytes(good)
    if job is repair_dataset:
        for shard in (data / "shards").iterdir():
            damage.flip(shard, position=1_000)
    before = published(data)
    read = prepare_shards.read_listed
    monkeypatch.setattr(prepare_shards, "read_listed", lambda name, *, folder: list(read(name, folder=folder))[:-1])
    with pytest.raises(UserError, match=r"\d+ utterances were listed but \d+ written or rejected: the corpus changed"):
        job(data, accept_changes=True)
    assert published(data) == before
