"""The split of each utterance."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.build.shard_plan import plan_shards
from pipelines.build.splits import SplitRule, spoken_form, text_key
from pipelines.config import BuildConfig
from preprocess.utterance import Utterance
from shared.errors import UserError


def utterance(number: int, *, text: str = "x", speaker: str = "a/b") -> Utterance:
    return Utterance(id=f"a/{number}", audio_path="x.wav", text=text, language="eng_Latn", speaker=speaker)


THREE = SplitRule(0.3, "text", 0.2)  # three splits, of about half, three tenths and a fifth


def splits_by(what: str, *held_out: str) -> SplitRule:
    return SplitRule(0.3, what, held_out=dict.fromkeys(held_out, "validation"))


@pytest.mark.parametrize(
    "texts",
    [
        ("Don't stop!", "don’t stop", "DON'T  STOP."),
        ("می‌خواهم", "می خواهم"),
        ("ﬁne", "fine"),
        ("„Ja“, sagte er.", "ja sagte er"),
    ],
)
def test_texts_that_sound_the_same_have_one_spoken_form(texts: tuple[str, ...]) -> None:
    assert len({spoken_form(text) for text in texts}) == 1


def test_by_text_a_sentence_is_in_one_split_for_all_speakers() -> None:
    splits = splits_by("text")
    for number in range(200):
        said = [utterance(10 * number + who, text=f"Sentence {number}", speaker=f"a/{who}") for who in range(5)]
        assert len({splits.split_of(one) for one in said}) == 1


def test_by_speaker_a_voice_is_in_one_split() -> None:
    splits = splits_by("speaker")
    for who in range(200):
        said = [utterance(10 * who + number, text=f"Sentence {number}", speaker=f"a/{who}") for number in range(5)]
        assert len({splits.split_of(one) for one in said}) == 1


@pytest.mark.parametrize("what", ["text", "utterance", "speaker"])
def test_the_fraction_is_kept(what: str) -> None:
    ones = [utterance(number, text=f"Sentence {number}", speaker=f"a/{number}") for number in range(3000)]
    found = sum(splits_by(what).split_of(one) == "validation" for one in ones)
    assert 0.27 < found / 3000 < 0.33


def test_a_test_split_takes_from_training_alone() -> None:
    ones = [utterance(number, text=f"Sentence {number}") for number in range(3000)]
    without, with_test = ([rule.split_of(one) for one in ones] for rule in (SplitRule(0.3, "text"), THREE))
    assert 0.17 < with_test.count("test") / 3000 < 0.23
    moved = {(before, after) for before, after in zip(without, with_test, strict=True) if before != after}
    assert moved == {("train", "test")}
    more = [SplitRule(0.3, "text", 0.3).split_of(one) for one in ones]
    assert {after for before, after in zip(with_test, more, strict=True) if before == "test"} == {"test"}


def test_the_splits_of_the_corpus_are_kept() -> None:
    for own in ("train", "validation", "test"):
        ones = [utterance(number, text=f"Sentence {number}") for number in range(50)]
        assert {THREE.split_of(dataclasses.replace(one, split=own)) for one in ones} == {own}


def test_a_list_outdoes_the_split_of_the_corpus() -> None:
    rule = SplitRule(0.0, "text", held_out={"a/b": "test"})
    assert rule.split_of(dataclasses.replace(utterance(7), split="validation")) == "test"


def test_texts_without_letters_are_split_by_their_ids() -> None:
    found = {splits_by("text").split_of(utterance(number, text="…")) for number in range(100)}
    assert found == {"train", "validation"}


def test_texts_without_letters_are_neither_repeats_nor_leaks() -> None:
    assert text_key("Oh!", utterance_id="a/1") == text_key("oh", utterance_id="a/2")
    assert text_key("…", utterance_id="a/1") != text_key("!!!", utterance_id="a/2")


@pytest.mark.parametrize("name", ["a/7", "a/b"])
def test_a_held_out_name_is_in_its_split(name: str) -> None:
    for split in ("validation", "test"):
        assert SplitRule(0.0, "text", held_out={name: split}).split_of(utterance(7)) == split
    assert SplitRule(0.0, "text", held_out={"a/8": "validation"}).split_of(utterance(7)) == "train"


def config_with(held_out: Path) -> BuildConfig:
    source = {"reader": "ljspeech", "root": "tests/corpora/english", "language": "eng_Latn"}
    return BuildConfig.model_validate({"sources": {"e": source}, "tokenizer": "x", "held_out": held_out})


def test_a_list_with_a_byte_order_mark_and_any_line_ends_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_bytes("\ufeffe/EN001-0001\r\n\r\n  e/EN001-0002\n".encode())
    plan = plan_shards(config_with(tmp_path / "names.txt"))
    assert plan.splits.held_out == {"e/EN001-0001": "validation", "e/EN001-0002": "validation"}
    assert ("e", "validation") in plan.shards


def test_an_unknown_held_out_name_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("e/EN001-0001\ne/nobody\n")
    with pytest.raises(UserError, match=r"held_out: no source has e/nobody \(unknown names: 1\)"):
        plan_shards(config_with(tmp_path / "names.txt"))


def test_only_line_ends_separate_the_names_of_the_list(tmp_path: Path) -> None:
    names = {"e/a\u2028b", "e/c\u00a0", "e/d e"}
    (tmp_path / "names.txt").write_text("\n".join(names), encoding="utf-8")
    assert SplitRule.from_config(config_with(tmp_path / "names.txt")).held_out.keys() == names


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_list_that_cannot_be_read_is_an_error(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "names.txt").write_bytes(content)
    with pytest.raises(UserError, match=r"held_out: .*names\.txt: .*expected one name per line"):
        plan_shards(config_with(tmp_path / "names.txt"))


@pytest.fixture
def people(tmp_path: Path) -> Callable[..., BuildConfig]:
    """A function that makes a config of two corpora of LibriVox and two others, split by speaker."""

    def make(**settings: object) -> BuildConfig:
        libri = {"root": "x", "language": "eng_Latn"}
        sources = {
            "a": {"reader": "librispeech", **libri},
            "b": {"reader": "libritts", **libri},
            "c": {"reader": "vctk", **libri},
            "d": {"reader": "ljspeech", **libri},
            "e": {"reader": "mls", "speaker": "84", **libri},
        }
        for name, content in settings.items():
            if isinstance(content, str):
                (tmp_path / name).write_text(content, encoding="utf-8")
                settings[name] = tmp_path / name
        values = {"sources": sources, "tokenizer": "x", "split_by": "speaker", "validation_fraction": 0.5}
        return BuildConfig.model_validate(values | settings)

    return make


def splits_of(rule: SplitRule, *speakers: str) -> list[str]:
    return [rule.split_of(utterance(1, speaker=speaker)) for speaker in speakers]


def test_a_reader_of_librivox_is_in_one_split_in_all_corpora_with_its_numbers(people: Callable) -> None:
    rule = SplitRule.from_config(people())
    of_readers = [splits_of(rule, f"a/{number}", f"b/{number}") for number in range(100)]
    assert all(one == other for one, other in of_readers)
    assert {one for one, _ in of_readers} == {"train", "validation"}
    others = [splits_of(rule, f"a/{number}", f"c/{number}") for number in range(100)]
    assert any(one != other for one, other in others)


def test_a_configured_speaker_has_no_number_of_librivox(people: Callable) -> None:
    rule = SplitRule.from_config(people())
    person = rule.person
    assert person("a/84") == person("b/84") != person("e/84")


def test_a_group_of_speakers_is_in_one_split(people: Callable) -> None:
    """A group may name a reader of LibriVox: then all corpora with that reader belong to it."""
    groups = "".join(f"c/{number}\td/x {number}\n" for number in range(100)) + "d/y\ta/84\na/85\td/z\n"
    rule = SplitRule.from_config(people(speaker_groups=groups))
    of_people = [splits_of(rule, f"c/{number}", f"d/x {number}") for number in range(100)]
    assert all(one == other for one, other in of_people)
    assert {one for one, _ in of_people} == {"train", "validation"}
    assert len(set(splits_of(rule, "a/85", "b/85", "d/z"))) == 1
    assert len(set(splits_of(rule, "a/84", "b/84", "d/y"))) == 1
    person = rule.person
    assert person("b/84") == person("d/y") != person("a/85")


def test_two_groups_that_name_one_reader_of_librivox_are_one_person(people: Callable) -> None:
    groups = "d/1\td/2\nd/3\ta/84\nc/5\tb/84\td/1\n".replace("\td/1\n", "\td/6\n")
    person = SplitRule.from_config(people(speaker_groups=groups)).person
    assert len({person(name) for name in ("a/84", "b/84", "c/5", "d/3", "d/6")}) == 1
    assert person("d/1") == person("d/2") != person("d/3")


def test_twenty_thousand_groups_are_read_in_no_time(people: Callable) -> None:
    groups = "".join(f"c/{number}\td/{number}\n" for number in range(20_000))
    before_s = time.process_time()
    person = SplitRule.from_config(people(speaker_groups=groups)).person
    assert time.process_time() - before_s < 2.0
    assert person("c/19999") == person("d/19999") != person("d/0")


def test_all_voices_of_a_held_out_speaker_are_held_out(people: Callable) -> None:
    config = people(held_out="a/84\nc/1\n", speaker_groups="d/9\tc/1\n", validation_fraction=0.0)
    rule = SplitRule.from_config(config)
    assert set(splits_of(rule, "a/84", "b/84", "c/1", "d/9")) == {"validation"}
    assert set(splits_of(rule, "a/85", "b/85", "c/2", "e/84")) == {"train"}
    by_text = SplitRule.from_config(config.model_copy(update={"split_by": "text"}))
    assert splits_of(by_text, "a/84", "b/84") == ["validation", "train"]


def test_one_name_in_both_lists_of_held_out_names_is_an_error(people: Callable) -> None:
    with pytest.raises(UserError, match=r"held_out_for_test: .* has c/1, which held_out has, too"):
        SplitRule.from_config(people(held_out="a/1\nc/1\n", held_out_for_test="c/1\n"))
    with pytest.raises(UserError, match=r"both have a voice of librivox/84"):
        SplitRule.from_config(people(held_out="a/84\n", held_out_for_test="b/84\n"))


def test_all_voices_of_a_speaker_who_is_held_out_for_test_are_in_test(people: Callable) -> None:
    rule = SplitRule.from_config(people(held_out="c/1\n", held_out_for_test="a/84\n", validation_fraction=0.0))
    assert splits_of(rule, "a/84", "b/84", "c/1", "a/85") == ["test", "test", "validation", "train"]


def test_an_unknown_name_that_is_held_out_for_test_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("e/nobody\n")
    source = {"reader": "ljspeech", "root": "tests/corpora/english", "language": "eng_Latn"}
    values = {"sources": {"e": source}, "tokenizer": "x", "held_out_for_test": tmp_path / "names.txt"}
    with pytest.raises(UserError, match="held_out_for_test: no source has e/nobody"):
        plan_shards(BuildConfig.model_validate(values))


def test_fractions_that_leave_nothing_to_train_on_are_refused() -> None:
    source = {"reader": "ljspeech", "root": "x", "language": "eng_Latn"}
    values = {"sources": {"e": source}, "tokenizer": "x", "validation_fraction": 0.5, "test_fraction": 0.5}
    with pytest.raises(ValueError, match=r"validation_fraction 0\.5 and test_fraction 0\.5 leave nothing to train on"):
        BuildConfig.model_validate(values)


@pytest.mark.parametrize(("split_by", "is_refused"), [("speaker", True), ("text", False)])
def test_sources_that_put_one_person_into_two_splits_are_refused_if_split_by_speaker(
    split_by: str, is_refused: bool, tmp_path: Path
) -> None:
    for corpus, part in (("a", "test"), ("b", "train")):
        folder = tmp_path / corpus / part / "84/1"
        folder.mkdir(parents=True)
        (folder / "84-1.trans.txt").write_text(f"84-1-{part} HELLO {part}\n")
    sources = {name: {"reader": "librispeech", "root": tmp_path / name, "official_splits": True} for name in ("a", "b")}
    config = BuildConfig.model_validate({"sources": sources, "tokenizer": "x", "split_by": split_by})
    if not is_refused:
        assert plan_shards(config).shards.keys() == {("a", "test"), ("b", "train")}
        return
    with pytest.raises(UserError, match="but 1 are in two splits, such as librivox/84 in test and train"):
        plan_shards(config)
    (tmp_path / "names.txt").write_text("a/84-1-test\n")  # an utterance that is held out by its id says nothing
    held_out = config.model_copy(update={"held_out_for_test": tmp_path / "names.txt"})
    assert plan_shards(held_out).shards.keys() == {("a", "test"), ("b", "train")}


def test_a_speaker_in_two_groups_is_an_error(people: Callable) -> None:
    with pytest.raises(
        UserError, match=r"speaker_groups: .* has c/1 twice; expected all names of a person on one line"
    ):
        SplitRule.from_config(people(speaker_groups="c/1\td/1\nd/2\tc/1\n"))


def test_an_unknown_name_in_a_group_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "groups.txt").write_text("e/nobody\n")
    source = {"reader": "ljspeech", "root": "tests/corpora/english", "language": "eng_Latn"}
    values = {"sources": {"e": source}, "tokenizer": "x", "speaker_groups": tmp_path / "groups.txt"}
    with pytest.raises(UserError, match="speaker_groups: no source has e/nobody"):
        plan_shards(BuildConfig.model_validate(values))
