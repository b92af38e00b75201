"""The shard plan and the dry run: the shard of each utterance, and estimates."""

from __future__ import annotations

import collections
import math
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import pytest

from pipelines.build import shard_plan as planning
from pipelines.build.dry_run import estimate_build, sample_source
from pipelines.build.shard_plan import Element, ShardPlan, plan_shards
from pipelines.config import BuildConfig
from preprocess.utterance import Reason, Rejection, Utterance
from shared.layout import ShardName
from tests.pipelines import builds

NAMES = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=60)
CORPORA = st.dictionaries(st.sampled_from(["a", "b", "c_1"]), NAMES, min_size=1)


def utterance(name: str) -> Utterance:
    return Utterance(id=name, audio_path=f"{name}.wav", text="x", language="eng_Latn", speaker="a/b")


def plan_of(corpora: dict[str, list[Element]], *, per_shard: int, validation_fraction: float) -> ShardPlan:
    config = BuildConfig.model_validate(
        {
            "sources": {name: {"reader": "ljspeech", "root": "x", "language": "eng_Latn"} for name in corpora},
            "tokenizer": "x",
            "utterances_per_shard": per_shard,
            "validation_fraction": validation_fraction,
            "split_by": "utterance",
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "read_corpus", lambda source, *, name, sources: iter(corpora[name]))
        return planning.plan_shards(config)


@pytest.mark.slow
@hypothesis.given(CORPORA, st.integers(1, 20), st.floats(0, 0.99))
def test_every_utterance_has_one_shard_and_each_shard_is_listed_once(
    names: dict[str, list[str]], per_shard: int, validation_fraction: float
) -> None:
    corpora = {source: [utterance(f"{source}/{one}") for one in ones] for source, ones in names.items()}
    plan = plan_of(corpora, per_shard=per_shard, validation_fraction=validation_fraction)
    listed = collections.Counter(plan.shard_names())
    assert set(listed.values()) == {1}
    assert plan.listed == sum(map(len, corpora.values()))
    for source, ones in corpora.items():
        assert all(listed[plan.shard_for(one, source=source)] == 1 for one in ones)


@hypothesis.given(CORPORA, st.integers(1, 20))
def test_the_number_of_shards_is_the_power_of_two_whose_mean_size_is_nearest(
    names: dict[str, list[str]], per_shard: int
) -> None:
    corpora = {source: [utterance(f"{source}/{one}") for one in ones] for source, ones in names.items()}
    plan = plan_of(corpora, per_shard=per_shard, validation_fraction=0.0)
    for source, ones in corpora.items():
        factors = {2**power: abs(math.log2(len(ones) / 2**power / per_shard)) for power in range(12)}
        assert plan.shards[source, "train"] == min(factors, key=factors.__getitem__)


@pytest.mark.slow
@hypothesis.given(CORPORA, st.integers(1, 20), st.randoms(use_true_random=False))
def test_the_order_of_sources_and_rows_changes_no_shard(names: dict[str, list[str]], per_shard: int, random) -> None:
    corpora = {source: [utterance(f"{source}/{one}") for one in ones] for source, ones in names.items()}
    plan = plan_of(corpora, per_shard=per_shard, validation_fraction=0.25)
    shuffled = [(source, random.sample(ones, len(ones))) for source, ones in corpora.items()]
    random.shuffle(shuffled)
    again = plan_of(dict(shuffled), per_shard=per_shard, validation_fraction=0.25)
    assert list(again.shard_names()) == list(plan.shard_names())
    for source, ones in corpora.items():
        assert all(plan.shard_for(one, source=source) == again.shard_for(one, source=source) for one in ones)


def test_shards_of_a_large_corpus_hold_about_the_configured_number_of_utterances() -> None:
    corpus = [utterance(f"a/LJ{number:05d}") for number in range(20_000)]
    plan = plan_of({"a": corpus}, per_shard=500, validation_fraction=0.02)
    sizes = collections.Counter(plan.shard_for(one, source="a") for one in corpus)
    train = [size for stem, size in sizes.items() if stem.split == "train"]
    assert len(train) == 32
    assert min(train) > 500  # 4.6 standard deviations of a binomial of mean 612
    assert max(train) < 725
    assert 300 < 20_000 - sum(train) < 500


def test_a_bad_row_is_counted_and_has_a_shard_too() -> None:
    row = Rejection(
        id="a/metadata.csv:3",
        audio_path="",
        language="",
        stage="corpus",
        reason=Reason.BAD_METADATA_ROW,
        message="2 fields",
    )
    plan = plan_of({"a": [row]}, per_shard=5, validation_fraction=0.0)
    assert plan.listed == 1
    assert plan.shard_for(row, source="a") == ShardName("a", "train", 0, 1)


def test_rows_excluded_by_max_utterances_add_no_shards(tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=40)
    asked = ["utterances_per_shard=4", "sources.ljspeech.max_utterances=3"]
    config = builds.config_of(builds.overrides_for(corpus, *asked))
    plan = plan_shards(config)
    assert plan.listed == 40
    assert set(plan.shards.values()) == {1}
    assert sum(1 for _ in plan.assign(config)) == 40
    found = sample_source("ljspeech", config=config)
    assert (found.utterances, found.bad_rows) == (3, 0)


def test_rows_excluded_by_max_utterances_do_not_all_come_to_one_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "MAX_LISTED_PER_SHARD", 4)
    corpus = builds.make_corpus(tmp_path / "corpus", clips=40)
    asked = ["utterances_per_shard=4", "validation_fraction=0", "sources.ljspeech.max_utterances=3"]
    assert plan_shards(builds.config_of(builds.overrides_for(corpus, *asked))).shards == {("ljspeech", "train"): 8}


def test_a_source_that_lists_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(planning.UserError, match=r"sources\.a: .* lists no utterance"):
        plan_of({"a": []}, per_shard=5, validation_fraction=0.0)


def test_the_estimate_of_a_source_with_bad_rows_only_is_zero(tmp_path: Path) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=0, bad_rows=["one field", "another"])
    source = {"reader": "ljspeech", "root": str(corpus), "language": "eng_Latn"}
    config = BuildConfig.model_validate({"sources": {"a": source}, "tokenizer": builds.TOKENIZER})
    (found,) = estimate_build(config).sources
    assert (found.utterances, found.bad_rows, found.sampled) == (0, 2, 0)
    assert (found.hours, found.hours_error, found.size_bytes) == (0, 0, 0)
