"""The line about sampling at the start of a run, and the table of `myxtts-train inspect-input`."""

from __future__ import annotations

from rich.console import Console

from trainer.data.sampling import SamplingShare
from trainer.monitoring import input_tables
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


def test_the_table_of_sampling_has_names_on_the_left_and_numbers_on_the_right() -> None:
    few = SamplingShare("b", 7, 0.5, 0.5, 1.0, 7.0, 1.0)
    groups = {"source": [group("all", repeats=1.0)], "speaker": [group("long name", repeats=1.0), few]}
    console = Console(width=100)
    with console.capture() as capture:
        console.print(input_tables._mix(groups))
    lines = capture.get().splitlines()
    (upper,) = (line for line in lines if "long name" in line)
    lower = lines[lines.index(upper) + 1]
    assert lower[upper.index("long name")] == "b"
    assert lower[upper.index("100") + 2] == "7"
