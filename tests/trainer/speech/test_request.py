from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from preprocess.text import PREPARATION
from preprocess.text_normalizer import load_normalizer
from shared.dataset import NormalizerIdentity
from shared.errors import UserError
from shared.features import preset
from tests.preprocess import normalizers
from tests.trainer.described_runs import VOCABULARY, describe_run
from trainer import speak_options
from trainer.speech import synthesizer
from trainer.speech.request import TextFrontEnd

IDENTITY = normalizers.IDENTITY


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(normalizers.install(tmp_path / "packages"))
    monkeypatch.delitem(sys.modules, normalizers.MODULE, raising=False)  # of another test's folder
    load_normalizer.cache_clear()
    yield
    load_normalizer.cache_clear()


def front_end(run: Path, contract: dict[str, object]) -> TextFrontEnd:
    return TextFrontEnd.of_run(describe_run(run, document=json.dumps({"contract": contract}).encode()))


def test_a_model_is_spoken_with_through_the_text_normalizer_of_its_dataset(tmp_path: Path) -> None:
    own = front_end(tmp_path / "run", {"text_normalizer": IDENTITY})
    request = own.prepare("It is loud. It is loud.", language="eng_Latn")
    assert [piece.text for piece in request.pieces] == ["It is of ninety percent."] * 2
    assert own.prepare_heard("loud", language="eng_Latn") == "of ninety percent"
    (piece,) = front_end(tmp_path / "run", {}).prepare("It is loud.", language="eng_Latn").pieces
    assert piece.text == "It is loud."


def test_another_version_of_the_normalizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"expected shouting-normalizer 2\.0, sha256 .* with which the dataset was made"
    ):
        front_end(tmp_path / "run", {"text_normalizer": {**IDENTITY, "version": "2.0"}})


def test_a_paragraph_is_normalized_before_it_is_divided_and_a_text_of_a_dataset_is_not(tmp_path: Path) -> None:
    own = front_end(tmp_path / "run", {"text_normalizer": {**IDENTITY, "name": "doubles"}})
    assert [piece.text for piece in own.prepare("It is tough.\n\n☺", language="eng_Latn").pieces] == [
        *("It is tooough.", "smile")
    ]
    (piece,) = own.prepare("It is tooough.", language="eng_Latn", is_normalized=True).pieces
    assert piece.text == "It is tooough."


def test_a_synthesizer_prepares_texts_by_the_normalizer_of_its_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Generator", "PlausibleSpeaker", "PromptMaker"):
        monkeypatch.setattr(synthesizer, name, lambda *_, **__: None)
    (tmp_path / "vocab.json").write_bytes(VOCABULARY.to_json())
    contract = SimpleNamespace(
        features=preset("hifigan-22k"), text_normalizer=NormalizerIdentity.model_validate(IDENTITY)
    )
    info: Any = SimpleNamespace(contract=contract, config=SimpleNamespace(xla=False))
    unused: Any = None
    made = synthesizer.Synthesizer(unused, info=info, run=tmp_path, tokenizer=unused, checkpoint=unused)
    (piece,) = made.front_end.prepare("It is loud.", language=None).pieces
    assert piece.text == "It is of ninety percent."


@pytest.mark.parametrize(
    ("prepared_by", "expected"),
    [
        (PREPARATION, ""),
        (
            "nllb-1",
            "runs/a: the texts of its dataset were prepared by nllb-1, and this version prepares by "
            f"{PREPARATION}: numbers and abbreviations may be read otherwise than in training\n",
        ),
    ],
)
def test_a_command_that_speaks_says_when_another_version_prepared_the_texts_of_training(
    prepared_by: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = SimpleNamespace(contract=SimpleNamespace(text_preparation=prepared_by))
    monkeypatch.setattr(synthesizer.Synthesizer, "load", lambda *_, **__: loaded)

    @click.command()
    @speak_options.synthesizer_options
    def command(run: Path, load: Callable[[], object]) -> None:
        assert load() is loaded

    outcome = CliRunner().invoke(command, ["runs/a"])
    assert (outcome.exit_code, outcome.stderr) == (0, expected)


@pytest.mark.parametrize(
    "document", [b"[" * 100_000, b"", b"[]", b"{}", b'{"contract": 5}', b'{"contract": {"text_normalizer": 5}}']
)
def test_what_is_wrong_with_a_run_is_left_to_those_who_load_it(document: bytes, tmp_path: Path) -> None:
    (piece,) = (
        TextFrontEnd.of_run(describe_run(tmp_path, document=document))
        .prepare("It is loud.", language="eng_Latn")
        .pieces
    )
    assert piece.text == "It is loud."
