"""The line about sampling at the start of a run."""

from __future__ import annotations

from trainer.data.sampling import SamplingShare
from trainer.monitoring.input_tables import sampling_line


def group(name: str, *, repeats: float) -> SamplingShare:
    return SamplingShare(name, 100, 0.5, 0.5, repeats, 100 * repeats, 1.0)


def test_sampling_is_one_line_with_the_range_of_each_kind_of_group() -> None:
    mix = {
        "language": [group("eng_Latn", repeats=0.75), group("deu_Latn", repeats=2.0), group("fra_Latn", repeats=1.5)],
        "source": [group("all", repeats=1.0)],
        "speaker": [group("a", repeats=1.0), group("b", repeats=0.5)],
    }
    assert sampling_line(mix) == (
        "times that an epoch repeats a record, by language 0.75 to 2.00; by speaker 0.50 to 1.00; "
        "`myxtts-train inspect-input` has a table"
    )


def test_without_groups_to_choose_from_there_is_no_line() -> None:
    assert sampling_line({"language": [group("eng_Latn", repeats=1.0)]}) is None
