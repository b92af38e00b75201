from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from preprocess.text import prepare_text
from preprocess.text_normalizer import TextNormalizer, load_normalizer, normalizer_of
from shared.dataset import NormalizerIdentity
from shared.errors import UserError
from tests.preprocess import normalizers

IDENTITY = NormalizerIdentity.model_validate(normalizers.IDENTITY)


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = normalizers.install(tmp_path / "packages")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, normalizers.MODULE, raising=False)  # of another test's folder
    load_normalizer.cache_clear()
    yield folder
    load_normalizer.cache_clear()


def test_a_normalizer_gets_the_text_first_and_the_preparation_reads_what_it_leaves() -> None:
    shout = TextNormalizer("shout")
    assert shout.identity == IDENTITY
    assert prepare_text("It is loud.", language="eng_Latn", normalizer=shout) == ("It is of ninety percent.", 0)
    assert prepare_text("Es ist loud.", language="deu_Latn", normalizer=shout) == ("Es ist laut.", 0)


def test_a_normalizer_is_the_same_in_another_process(installed: Path) -> None:
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer)('so loud', language='eng_Latn'))"
    path = f"import sys; sys.path[:0] = [{str(installed)!r}]; {code}"
    data = pickle.dumps(TextNormalizer("shout"))
    ended = subprocess.run([sys.executable, "-c", path], input=data, capture_output=True, check=True)
    assert ended.stdout.decode() == "so of 90 %\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "absent",
            "text_normalizer absent: no_such_module:shout cannot be imported "
            "(ModuleNotFoundError: No module named 'no_such_module')",
        ),
        ("number", "text_normalizer number: shouting_normalizer:number is no function"),
        (
            "shuot",
            "text_normalizer shuot: no entry point of myxtts.text_normalizers has this name; "
            "expected one of absent, doubles, fails, fails_in_lines, number, returns_bytes, shout",
        ),
    ],
)
def test_a_normalizer_that_cannot_be_loaded(name: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        load_normalizer(name)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("fails", "raised ValueError: no such word"),
        ("fails_in_lines", "raised ValueError: one line and another"),
        ("returns_bytes", "returned a bytes, expected a str"),
    ],
)
def test_a_normalizer_that_fails_is_named_with_the_text(name: str, what: str) -> None:
    with pytest.raises(UserError) as caught:
        load_normalizer(name)("word " * 100, language="eng_Latn")
    shown = ("word " * 12) + "…"
    assert str(caught.value) == f"text_normalizer {name} of shouting-normalizer 1.0, for the text {shown!r}: {what}"


def test_two_packages_with_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(normalizers.install(tmp_path / "more", distribution="another"))
    with pytest.raises(UserError, match="several packages have it: another, shouting-normalizer; expected one"):
        load_normalizer("shout")


def test_the_normalizer_of_a_contract_must_have_its_version_and_its_file(installed: Path) -> None:
    assert normalizer_of(None) is None
    found = normalizer_of(IDENTITY)
    assert found is not None
    assert found("loud", language="eng_Latn") == "of 90 %"
    older = IDENTITY.model_copy(update={"version": "0.9"})
    with pytest.raises(
        UserError, match=r"installed is shouting-normalizer 1\.0, .*; expected shouting-normalizer 0\.9,"
    ):
        normalizer_of(older)
    edited = installed / "shouting_normalizer.py"
    edited.write_text(edited.read_text() + "# another file of the same version\n")
    load_normalizer.cache_clear()
    with pytest.raises(UserError, match=r"; expected shouting-normalizer 1\.0, sha256 of its file"):
        normalizer_of(IDENTITY)
    with pytest.raises(UserError, match=r"no entry point .* has this name; .*; expected gone 1\.0, sha256"):
        normalizer_of(IDENTITY.model_copy(update={"name": "gone", "distribution": "gone"}))
