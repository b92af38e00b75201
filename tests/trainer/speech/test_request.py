from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from preprocess.text_normalizer import load_normalizer
from shared.errors import UserError
from tests.preprocess import normalizers
from trainer.speech.request import TextFrontEnd

IDENTITY = {"name": "shout", "distribution": "shouting-normalizer", "version": "1.0"}


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(normalizers.install(tmp_path / "packages"))
    load_normalizer.cache_clear()
    yield
    load_normalizer.cache_clear()


def front_end(run: Path, contract: dict[str, object]) -> TextFrontEnd:
    run.mkdir(exist_ok=True)
    (run / "run.json").write_text(json.dumps({"contract": contract}))
    return TextFrontEnd.of_run(run)


def test_a_model_is_spoken_with_through_the_text_normalizer_of_its_dataset(tmp_path: Path) -> None:
    own = front_end(tmp_path / "run", {"text_normalizer": IDENTITY})
    request = own.prepare("It is loud. It is loud.", language="eng_Latn")
    assert [piece.text for piece in request.pieces] == ["It is of ninety percent."] * 2
    assert own.prepare_heard("loud", language="eng_Latn") == "of ninety percent"
    (piece,) = front_end(tmp_path / "run", {}).prepare("It is loud.", language="eng_Latn").pieces
    assert piece.text == "It is loud."


def test_another_version_of_the_normalizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected shouting-normalizer 2\.0, with which the dataset was made"):
        front_end(tmp_path / "run", {"text_normalizer": {**IDENTITY, "version": "2.0"}})


@pytest.mark.parametrize("document", [b"", b"[]", b"{}", b'{"contract": 5}', b'{"contract": {"text_normalizer": 5}}'])
def test_what_is_wrong_with_a_run_is_left_to_those_who_load_it(document: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(document)
    (piece,) = TextFrontEnd.of_run(tmp_path).prepare("It is loud.", language="eng_Latn").pieces
    assert piece.text == "It is loud."
