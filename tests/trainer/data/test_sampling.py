"""How often records are heard, against sums over dictionaries and a scale found by halving."""

from __future__ import annotations

import collections
from collections.abc import Sequence

import hypothesis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies

from trainer.config.data_config import SamplingConfig
from trainer.data.manifest_rows import Column, ManifestRows
from trainer.data.sampling import sampling_rates, sampling_shares

RECORDS = strategies.lists(
    strategies.tuples(strategies.sampled_from("ab"), strategies.sampled_from("xyz"), strategies.sampled_from("1234")),
    min_size=1,
    max_size=40,
)
TEMPERATURES = strategies.sampled_from([1.0, 1.5, 2.0, 5.0, 1e6])
WEIGHTS = strategies.fixed_dictionaries({name: strategies.sampled_from([0.5, 1.0, 2.0, 12.0]) for name in "xyz"})


def column(values: Sequence[str]) -> Column:
    return Column.of(pa.chunked_array([pa.array(values, pa.string())]))


def rows_of(records: list[tuple[str, str, str]], *, frames: list[int] | None = None) -> ManifestRows:
    """Rows of (language, source, speaker)."""
    languages, sources, speakers = zip(*records, strict=True)
    lengths = np.array(frames or [100] * len(records))
    return ManifestRows(
        frames=lengths,
        tokens=np.full(len(records), 9),
        duration_s=lengths * 0.01,
        language=column(languages),
        source=column(sources),
        speaker=column(speakers),
        utterance_id=pa.chunked_array([[f"id{place}" for place in range(len(records))]]),
    )


def expected(
    records: list[tuple[str, str, str]], *, weights: dict[str, float], temperatures: tuple[float, ...], most: float
) -> list[float]:
    """Record by record, each group a tuple under its parent, the tuple without its last; the scale by halving."""
    base = [weights[source] for _, source, _ in records]
    wanted = [own * len(records) for own in base]
    for depth, temperature in enumerate(temperatures, 1):
        counts = collections.Counter(record[:depth] for record in records)
        for number, record in enumerate(records):
            powers = {group: count ** (1 / temperature) for group, count in counts.items()}
            siblings = [power for group, power in powers.items() if group[:-1] == record[: depth - 1]]
            wanted[number] *= powers[record[:depth]] / sum(siblings)
    speakers = collections.Counter(records)
    wanted = [want / speakers[record] for want, record in zip(wanted, records, strict=True)]

    def scaled(scale: float) -> list[float]:
        return [min(scale * want, max(most, own)) for want, own in zip(wanted, base, strict=True)]

    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(scaled(middle)) < sum(base) else (low, middle)
    return scaled(high)


@pytest.mark.slow
@hypothesis.given(RECORDS, WEIGHTS, TEMPERATURES, TEMPERATURES, TEMPERATURES, strategies.sampled_from([1.0, 1.5, 8.0]))
def test_rates_are_those_of_a_sum_over_all_records(
    records: list[tuple[str, str, str]],
    weights: dict[str, float],
    languages: float,
    sources: float,
    speakers: float,
    most: float,
) -> None:
    config = SamplingConfig(
        language_temperature=languages, source_temperature=sources, speaker_temperature=speakers, max_repeats=most
    )
    kept = np.ones(len(records), bool)
    rates = sampling_rates(rows_of(records), weights=weights, kept=kept, config=config)
    assert rates.dtype == np.float32
    wanted = expected(records, weights=weights, temperatures=(languages, sources, speakers), most=most)
    np.testing.assert_allclose(rates, wanted, rtol=1e-4)
    assert rates.sum() == pytest.approx(sum(weights[source] for _, source, _ in records), rel=1e-4)


@hypothesis.given(RECORDS, WEIGHTS)
def test_temperatures_of_1_leave_the_sources_weights_to_the_bit(
    records: list[tuple[str, str, str]], weights: dict[str, float]
) -> None:
    rates = sampling_rates(rows_of(records), weights=weights, kept=np.ones(len(records), bool), config=SamplingConfig())
    assert rates.tolist() == [weights[source] for _, source, _ in records]


def test_a_great_temperature_gives_every_language_the_same_share() -> None:
    records = [("a", "x", "1")] * 90 + [("b", "x", "2")] * 10
    config = SamplingConfig(language_temperature=1e9, max_repeats=100)
    rates = sampling_rates(rows_of(records), weights={"x": 1.0}, kept=np.ones(100, bool), config=config)
    assert rates[:90].sum() == pytest.approx(50, abs=1e-3)
    assert rates[90:].sum() == pytest.approx(50, abs=1e-3)


@pytest.mark.parametrize("sources", [1.0, 5.0, 100.0])
@pytest.mark.parametrize("speakers", [1.0, 5.0, 100.0])
def test_a_language_that_is_one_source_and_one_speaker_is_evened_out_once(sources: float, speakers: float) -> None:
    records = [("a", "x", "1")] * 10_000 + [("b", "y", "2")] * 1_000
    config = SamplingConfig(
        language_temperature=5.0, source_temperature=sources, speaker_temperature=speakers, max_repeats=100
    )
    rates = sampling_rates(rows_of(records), weights={"x": 1.0, "y": 1.0}, kept=np.ones(11_000, bool), config=config)
    small = 1_000**0.2 / (1_000**0.2 + 10_000**0.2)
    assert rates[10_000:].sum() / rates.sum() == pytest.approx(small, rel=1e-5)  # 38.7 %


@hypothesis.given(RECORDS, TEMPERATURES, TEMPERATURES, TEMPERATURES)
def test_every_temperature_evens_out_the_groups_of_a_parent_whatever_the_others_are(
    records: list[tuple[str, str, str]], languages: float, sources: float, speakers: float
) -> None:
    config = SamplingConfig(
        language_temperature=languages, source_temperature=sources, speaker_temperature=speakers, max_repeats=1e9
    )
    kept, weights = np.ones(len(records), bool), dict.fromkeys("xyz", 1.0)
    heard = collections.Counter[tuple[str, ...]]()
    rates = sampling_rates(rows_of(records), weights=weights, kept=kept, config=config)
    for record, rate in zip(records, rates, strict=True):
        for depth in range(4):
            heard[record[:depth]] += float(rate)
    for depth, temperature in enumerate((languages, sources, speakers), 1):
        counts = collections.Counter(record[:depth] for record in records)
        for parent in {group[:-1] for group in counts}:
            powers = {group: n ** (1 / temperature) for group, n in counts.items() if group[:-1] == parent}
            for group, power in powers.items():
                assert heard[group] / heard[parent] == pytest.approx(power / sum(powers.values()), rel=1e-4)


def test_nothing_is_repeated_more_often_than_the_limit_and_the_rest_takes_its_place() -> None:
    records = [("a", "x", "1")] * 99 + [("b", "x", "2")]
    config = SamplingConfig(language_temperature=1e9)
    rates = sampling_rates(rows_of(records), weights={"x": 1.0}, kept=np.ones(100, bool), config=config)
    assert rates[99] == 8
    assert rates.sum() == pytest.approx(100, rel=1e-6)


def test_rows_that_are_left_out_are_never_heard_and_count_for_nothing() -> None:
    records = [("a", "x", "1")] * 60 + [("b", "x", "2")] * 40
    kept = np.arange(100) % 2 == 0
    config = SamplingConfig(language_temperature=2.0)
    rates = sampling_rates(rows_of(records), weights={"x": 1.0}, kept=kept, config=config)
    assert (rates[~kept] == 0).all()
    half = sampling_rates(
        rows_of([record for record, keep in zip(records, kept, strict=True) if keep]),
        weights={"x": 1.0},
        kept=np.ones(50, bool),
        config=config,
    )
    assert rates[kept].tolist() == half.tolist()


def test_shares_say_what_is_stored_and_what_is_heard() -> None:
    records = [("a", "x", "1")] * 3 + [("b", "y", "2")]
    rows = rows_of(records, frames=[360_000] * 4)  # an hour each
    first, second = sampling_shares(rows, rows.language, rates=np.array([1.0, 1.0, 1.0, 3.0], np.float32))
    assert first == ("a", 3, 0.75, 0.5, 1.0, 3.0, 3.0)
    assert second == ("b", 1, 0.25, 0.5, 3.0, 3.0, 3.0)
