"""Drift is significant for a gain or a trim, and never for two random halves of one corpus."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pipelines.compare.drift import ALPHA, COLUMNS, DRIFT_MEASURES, QUANTILES, Drift, KeptRecords, find_drifts
from pipelines.compare.histogram_overlay import draw_overlay
from pipelines.html.axes import VIEW_BOX
from pipelines.tables.columns import DatasetRows
from pipelines.tables.join import pair_rows

Columns = dict[str, np.ndarray]


def corpus(count: int, *, seed: int, level_spread_db: float = 4.0) -> Columns:
    """Measures of as many utterances as a corpus might have them."""
    random = np.random.default_rng(seed)
    duration_s = np.clip(random.lognormal(1.6, 0.5, count), 0.5, 20)
    rate = random.normal(15, 2, count).clip(5, 30)
    return {
        "utterance_id": np.array([f"s/{number}" for number in range(count)]),
        "source": np.full(count, "s"),
        "language": np.where(np.arange(count) % 3, "eng_Latn", "deu_Latn"),
        "duration_s": duration_s,
        "rms_db": random.normal(-24, level_spread_db, count),
        "tokens": np.round(duration_s * rate / 4).astype(np.int64) + 2,
        "characters_per_second": rate,
        "snr_db": random.normal(35, 8, count),
    }


def rows(columns: Columns) -> DatasetRows:
    assert {*COLUMNS} <= {*columns}
    return DatasetRows(pa.table(columns), [], np.zeros(1), Path)


def drifts(a: Columns, b: Columns) -> list[Drift]:
    one, other = rows(a), rows(b)
    ids = (side.table["utterance_id"] for side in (one, other))
    ranks = [np.zeros(len(side.table), np.int8) for side in (one, other)]
    return find_drifts(KeptRecords(one, other, pair_rows(*ids, ranks_a=ranks[0], ranks_b=ranks[1])))


def significant(a: Columns, b: Columns) -> set[tuple[str, str]]:
    return {(one.group, one.measure.column) for one in drifts(a, b) if one.is_significant}


def taken(columns: Columns, chosen: np.ndarray) -> Columns:
    return {name: values[chosen] for name, values in columns.items()}


def renamed(columns: Columns) -> Columns:
    return columns | {"utterance_id": np.char.add(columns["utterance_id"], "x")}


def louder(columns: Columns, *, db: float) -> Columns:
    return columns | {"rms_db": columns["rms_db"] + db}


def trimmed(columns: Columns, *, seconds: float) -> Columns:
    """The silences at the edges are gone: the same text in less time."""
    shorter = np.maximum(columns["duration_s"] - seconds, 0.3)
    rate = columns["characters_per_second"] * columns["duration_s"] / shorter
    return columns | {"duration_s": shorter, "characters_per_second": rate}


@pytest.mark.slow
@pytest.mark.parametrize("count", [60, 400, 4000])
def test_two_random_halves_of_a_corpus_never_raise_an_alarm(count: int) -> None:
    found = set()
    for seed in range(40):
        whole = corpus(count, seed=seed)
        half = np.random.default_rng(seed).permutation(count) < count // 2
        found |= significant(taken(whole, half), taken(whole, ~half))
    assert found == set()


def test_the_same_corpus_twice_raises_none() -> None:
    whole = corpus(1000, seed=1)
    assert all(one.statistic == 0 and one.p_value == 1 for one in drifts(whole, whole))
    assert significant(whole, whole) == set()


def test_a_gain_of_3_db_is_seen_in_the_level_and_nowhere_else() -> None:
    a = corpus(600, seed=2)
    groups = ("all", "s eng_Latn", "s deu_Latn")
    assert significant(a, louder(a, db=3)) == {(group, "rms_db") for group in groups}
    assert significant(a, renamed(louder(a, db=3))) == {(group, "rms_db") for group in groups}


def test_a_gain_is_seen_in_shared_utterances_where_levels_are_far_apart_anyway() -> None:
    a = corpus(100, seed=3, level_spread_db=20)
    (drift,) = [one for one in drifts(a, louder(a, db=3)) if one.group == "all" and one.measure.column == "rms_db"]
    assert drift.p_value > ALPHA
    assert drift.is_significant
    assert drift.shift == pytest.approx(3)
    assert ("all", "rms_db") not in significant(a, renamed(louder(a, db=3)))


def test_trimmed_silences_are_seen_in_duration_and_rate() -> None:
    a = corpus(600, seed=4)
    found = significant(a, trimmed(a, seconds=0.3))
    assert {column for group, column in found if group == "all"} == {"duration_s", "characters_per_second"}


@pytest.mark.slow
def test_a_difference_too_small_to_matter_is_none_however_sure_it_is() -> None:
    a = corpus(200_000, seed=5)
    (drift,) = [one for one in drifts(a, louder(a, db=0.1)) if one.group == "all" and one.measure.column == "rms_db"]
    assert drift.shared is not None
    assert drift.shared.p_value < 1e-9
    assert not drift.is_significant


def test_another_mixture_drifts_as_a_whole_and_in_no_part() -> None:
    a = corpus(4000, seed=6)
    a["rms_db"] += np.where(a["language"] == "eng_Latn", 8.0, 0.0)
    random = np.random.default_rng(6)
    half = random.random(4000) < 0.5
    fewer = ~half & ((a["language"] == "deu_Latn") | (random.random(4000) < 0.2))
    assert significant(taken(a, half), taken(a, fewer)) == {("all", "rms_db")}


def test_statistic_and_shifts_are_those_of_the_definition() -> None:
    a, b = corpus(300, seed=7), renamed(trimmed(corpus(200, seed=8), seconds=0.5))
    for drift in drifts(a, b):
        column, language = drift.measure.column, drift.language
        before, after = (np.sort(side[column][(side["language"] == language) | (language == "")]) for side in (a, b))
        every = np.concatenate([before, after])
        shares = [np.array([np.mean(side <= value) for value in every]) for side in (before, after)]
        assert drift.statistic == pytest.approx(np.abs(shares[0] - shares[1]).max())
        assert drift.records == (len(before), len(after))
        expected = [np.quantile(after, q) - np.quantile(before, q) for q in QUANTILES]
        assert drift.shifts == pytest.approx(expected)


def test_the_p_value_is_that_of_permutations() -> None:
    a, b = corpus(120, seed=9), renamed(louder(corpus(120, seed=10), db=1.3))
    drift = next(one for one in drifts(a, b) if one.measure.column == "rms_db" and not one.source)
    every, random = np.concatenate([a["rms_db"], b["rms_db"]]), np.random.default_rng(0)
    order = np.argsort(every)

    def statistic(is_a: np.ndarray) -> float:
        return float(np.abs(np.cumsum(np.where(is_a[order], 1 / 120, -1 / 120))).max())

    labels = np.arange(240) < 120
    assert statistic(labels) == pytest.approx(drift.statistic)
    as_far = np.mean([statistic(random.permutation(labels)) >= drift.statistic - 1e-9 for _ in range(4000)])
    assert 0.001 < as_far < 0.5
    assert drift.p_value == pytest.approx(as_far, rel=0.4)


def test_too_few_records_are_not_judged() -> None:
    a = corpus(10, seed=11)
    assert drifts(a, louder(a, db=30)) == []
    groups = {one.group for one in drifts(corpus(40, seed=11), corpus(40, seed=12))}
    assert groups == {"all", "s eng_Latn"}  # 13 are German


def test_the_picture_holds_every_record_of_both() -> None:
    a, b = corpus(500, seed=13), trimmed(corpus(300, seed=14), seconds=0.5)
    for drift in drifts(a, renamed(b))[: len(DRIFT_MEASURES)]:
        drawn = draw_overlay(a[drift.measure.column], b[drift.measure.column], drift=drift)
        assert sum(bar.shares[0] for bar in drawn.bars) == pytest.approx(1)
        assert sum(bar.shares[1] for bar in drawn.bars) == pytest.approx(1)
        tallest = max(drawn.bars, key=lambda bar: bar.shares[1])
        assert VIEW_BOX.top <= tallest.y < drawn.base
        points = [tuple(map(float, point.split(","))) for point in drawn.outline.split()]
        assert points[0][1] == points[-1][1] == drawn.base
        steps = itertools.pairwise(points[1:-1])
        areas = [(right - left) * (drawn.base - y) for (left, y), (right, _) in steps]
        shares = np.array([bar.shares[0] for bar in drawn.bars])
        assert np.array(areas[::2][: len(shares)]) / sum(areas) == pytest.approx(shares, abs=2e-3)
