"""How much recordings sound like others of their speaker: clips that are ascribed to the wrong one are found."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

from pipelines.score import speakers
from pipelines.score.score import Scored
from pipelines.score.speakers import COLUMN, COMPARED, choose_compared, score_speakers
from preprocess.utterance import Utterance

GERMAN = Path("tests/corpora/german/de")


def clip(name: str, *, speaker: str) -> Utterance:
    return Utterance(id=name, audio_path=name, text="", language="eng_Latn", speaker=speaker)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The recordings that were heard; the first letter of a name tells whose voice it is, and `x` cannot be read."""
    names: list[str] = []

    def score(utterances: Iterator[Utterance], *, network: str, max_duration_s: float, workers: int | None) -> object:
        for one in utterances:
            names.append(one.id)
            voice = np.eye(26)[ord(one.id[0]) - ord("a")].tolist()
            yield Scored(one, problem="broken") if one.id.startswith("x") else Scored(one, {"voice": voice})

    monkeypatch.setattr(speakers, "score", score)
    return names


def scores_of(new: list[Utterance], listed: list[Utterance]) -> dict[str, float | str]:
    found = score_speakers(lambda: iter(new), listed=lambda: iter(listed), max_duration_s=60)
    return {one.utterance.id: one.problem or one.scores.get(COLUMN, "none") for one in found}


def test_a_clip_of_another_person_is_unlike_the_others_and_each_clip_is_heard_once(heard: list[str]) -> None:
    listed = [clip(f"a{number}", speaker="anna") for number in range(30)]
    listed += [clip("b0", speaker="anna"), clip("x0", speaker="anna")]
    listed += [clip(f"b{number}", speaker="ben") for number in range(1, 5)]
    found = scores_of(listed, listed)
    assert found == {one.id: "broken" if one.id == "x0" else float(one.id != "b0") for one in listed}
    assert sorted(heard) == sorted(one.id for one in listed)


def test_a_speaker_with_few_recordings_has_no_score(heard: list[str]) -> None:
    listed = [clip(f"a{number}", speaker="anna") for number in range(3)]
    assert set(scores_of(listed, listed).values()) == {"none"}
    listed.append(clip("a3", speaker="anna"))
    assert set(scores_of(listed, listed).values()) == {1.0}


def test_a_new_clip_is_compared_with_those_that_have_scores(heard: list[str]) -> None:
    listed = [clip(f"a{number}", speaker="anna") for number in range(30)]
    listed += [clip(f"c{number}", speaker="carl") for number in range(30)]
    new = [clip("a30", speaker="anna"), clip("b0", speaker="anna")]
    assert scores_of(new, [*listed, *new]) == {"a30": 1.0, "b0": 0.0}
    assert len(heard) <= COMPARED + 2
    assert not any(name.startswith("c") for name in heard)


def test_scores_come_when_all_compared_clips_of_a_speaker_are_heard(heard: list[str]) -> None:
    """An interrupted command keeps those speakers."""
    listed = [clip(f"{name}{number}", speaker=name) for name in "abc" for number in range(5)]
    found = score_speakers(lambda: iter(listed), listed=lambda: iter(listed), max_duration_s=60)
    assert {next(found).utterance.speaker for _ in range(5)} == {"a"}
    assert all(name.startswith("a") for name in heard)


def test_the_compared_clips_do_not_depend_on_the_order_of_the_corpus() -> None:
    listed = [clip(f"a{number}", speaker=f"s{number % 2}") for number in range(60)]
    chosen = choose_compared(listed, speakers={"s0", "s1"})
    assert choose_compared(listed[::-1], speakers={"s0", "s1"}).keys() == chosen.keys()
    assert len(chosen) == 2 * COMPARED
    assert choose_compared(listed, speakers={"s1"}).keys() == {name for name in chosen if chosen[name].speaker == "s1"}


@pytest.mark.slow
def test_the_command_finds_a_clip_of_another_voice(tmp_path: Path, command: Callable) -> None:
    """Of two voices with eight clips each, one clip is ascribed to the other voice."""
    root = shutil.copytree(GERMAN, tmp_path / "de")
    head, *rows = (root / "validated.tsv").read_text(encoding="utf-8").splitlines()
    swapped = rows[3].replace(rows[3].split("\t")[0], rows[2].split("\t")[0])
    (root / "validated.tsv").write_text("\n".join([head, *rows[:3], swapped, *rows[4:]]) + "\n", encoding="utf-8")
    source = {"reader": "common_voice", "root": str(root), "language": "de"}
    config, out = tmp_path / "config.yaml", tmp_path / "speakers.csv"
    config.write_text(yaml.safe_dump({"sources": {"one": source}, "tokenizer": "tests/corpora/tokenizer.json"}))
    outcome = command("score", config, "--of", "speaker", "--out", out)
    assert outcome.code == 0, outcome.err
    rows_by_id = {row["utterance_id"]: float(row[COLUMN]) for row in csv.DictReader(out.open(encoding="utf-8"))}
    assert len(rows_by_id) == 16
    assert [name for name, score in rows_by_id.items() if score < 0.65] == ["one/common_voice_de_4"]
