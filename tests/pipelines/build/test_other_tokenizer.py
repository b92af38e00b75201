"""A dataset whose ids a tokenizer other than NLLB's made: built, described, validated and traced."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import tokenizers
from tokenizers import models, pre_tokenizers

from pipelines.build.preparation import create_preparation
from pipelines.validation.validate import validate_dataset
from preprocess.phonemizer import load_phonemizer
from shared.dataset import Dataset
from shared.errors import UserError
from shared.languages import language_id
from shared.vocabulary import END_ID, Vocabulary
from tests.pipelines import builds


@pytest.fixture
def own(tmp_path: Path) -> tokenizers.Tokenizer:
    """A tokenizer of single letters, saved as tokenizer.json."""
    letters = ["[UNK]", *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,"]
    made = tokenizers.Tokenizer(
        models.WordLevel({letter: number for number, letter in enumerate(letters)}, unk_token="[UNK]")
    )
    made.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex("."), "isolated")
    made.save(str(tmp_path / "tokenizer.json"))
    return made


@pytest.mark.slow
def test_it_is_built_validated_and_traced(tmp_path: Path, own: tokenizers.Tokenizer, command: Callable) -> None:
    root, data = builds.make_corpus(tmp_path / "corpus", clips=4), tmp_path / "data"
    own_words = (f"tokenizer={tmp_path / 'tokenizer.json'}", "tokenizer_kind=other", "validation_fraction=0")
    built = command(*builds.build_words(root, *own_words, data=data))
    assert built.code == 0, built.err
    dataset = Dataset.open(data)
    assert dataset.info.contract.tokenizer_kind == "other"
    for name in ("README.md", "croissant.json", "dataset_info.json"):
        described = (data / name).read_text("utf-8")
        assert "token ids" in described
        assert "NLLB token ids" not in described
    vocabulary = Vocabulary.load(dataset.layout.vocabulary)
    for record in dataset.records("train"):
        theirs = own.encode(record.text).ids
        assert record.tokens == (language_id("eng_Latn"), *(own_id + 4 for own_id in theirs), END_ID)
        assert "".join(vocabulary.by_id[token] for token in record.tokens[1:-1]) == record.text
    assert validate_dataset(data, workers=1).findings == []
    traced = command("trace", "ljspeech/C00000", "--data", data, "--reproduce")
    assert "the same bytes" in traced.out, traced.err


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
def test_phonemes_are_tokenized_and_texts_stay_in_letters(tmp_path: Path, command: Callable) -> None:
    root, data = builds.make_corpus(tmp_path / "corpus", clips=4), tmp_path / "data"
    settings = ("tokenizer=configs/tokenizer_ipa.json", "tokenizer_kind=other", "phonemizer=espeak-ng")
    words = builds.build_words(root, *settings, "validation_fraction=0", data=data)
    built = builds.run(*words, "workers=2")  # which get the phonemizer
    assert built.returncode == 0, built.stderr
    dataset, phonemizer = Dataset.open(data), load_phonemizer()
    assert dataset.info.contract.phonemizer == phonemizer.identity
    pieces = Vocabulary.load(dataset.layout.vocabulary).by_id
    for record in dataset.records("train"):
        assert record.text == "The kettle is singing again."
        spoken = "".join(pieces[token] for token in record.tokens[1:-1])
        assert spoken == phonemizer(record.text, language="eng_Latn")
        assert "ŋ" in spoken
    assert validate_dataset(data, workers=1).findings == []
    traced = command("trace", "ljspeech/C00000", "--data", data, "--reproduce")
    assert "the same bytes" in traced.out, traced.err
    assert f"; phonemes by espeak-ng {phonemizer.identity.version}" in traced.out
    assert f"- phonemizer espeak-ng {phonemizer.identity.version}\n" in (data / "README.md").read_text("utf-8")


def test_phonemes_need_another_tokenizer_and_a_language_that_is_read(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="phonemizer espeak-ng: NLLB's pieces are those of letters; expected tokenizer_kind"
    ):
        builds.config_of(["phonemizer=espeak-ng"])
    settings = ["tokenizer=configs/tokenizer_ipa.json", "tokenizer_kind=other", "phonemizer=espeak-ng"]
    config = builds.config_of([*settings, "sources.ljspeech.language=jpn_Jpan"])
    if shutil.which("espeak-ng") is not None:
        with pytest.raises(UserError, match="phonemizer espeak-ng: does not read jpn_Jpan"):
            create_preparation(config)


def test_without_the_setting_it_is_refused_in_a_line_that_names_it(
    tmp_path: Path, own: tokenizers.Tokenizer, command: Callable
) -> None:
    root = builds.make_corpus(tmp_path / "corpus", clips=2)
    words = builds.build_words(root, f"tokenizer={tmp_path / 'tokenizer.json'}", data=tmp_path / "data")
    ended = command(*words)
    assert ended.code == 2
    assert "Any other one needs tokenizer_kind: other" in ended.err


def test_a_dataset_of_nllbs_tokenizer_does_not_mention_the_kind(tmp_path: Path) -> None:
    """So its bytes are those of before there was another one, or a phonemizer."""
    data = tmp_path / "data"
    overrides = builds.overrides_for(builds.make_corpus(tmp_path / "corpus", clips=2), "validation_fraction=0")
    builds.build(data, config=builds.LJSPEECH_CONFIG, overrides=overrides)
    for name in ("tokenizer_kind", "phonemizer"):
        assert name not in json.loads((data / "dataset.json").read_bytes())["contract"]
        assert name not in (data / "config.yaml").read_text("utf-8")
